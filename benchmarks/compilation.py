"""How long the kernels take to compile: each is called once on tiny data in a fresh process with an empty cache.

python benchmarks/compilation.py
"""

import os
import subprocess
import sys
import tempfile
import time


def call_all():
    began = time.perf_counter()
    import numpy as np

    import semistruct
    from semistruct.chain import kernels

    print(f"import             {time.perf_counter() - began:5.1f} s")
    began = time.perf_counter()
    data = semistruct.make_citations(60)
    model = semistruct.SSVM(tol=0.1).fit(data.tokens, data.labels)
    print(f"training           {time.perf_counter() - began:5.1f} s")
    began = time.perf_counter()
    model.predict(data.tokens)
    model.predict(data.tokens, n_best=2)
    print(f"labelling, n best  {time.perf_counter() - began:5.1f} s")
    began = time.perf_counter()
    rules = semistruct.Rules.from_file("citations")
    model.predict(data.tokens, rules=rules)
    print(f"search under rules {time.perf_counter() - began:5.1f} s")
    began = time.perf_counter()
    annealed = semistruct.AnnealedSSVM(rules=rules, schedule=[1.0], rounds=1)
    annealed.fit(data.tokens[:10], data.labels[:10], pool=data.tokens[10:])
    print(f"label switching    {time.perf_counter() - began:5.1f} s")
    began = time.perf_counter()
    unary, step, kind = np.zeros((3, 2)), np.zeros((1, 2, 2)), np.zeros(3, np.int16)
    kernels.max_marginals(unary, step, kind, np.empty((3, 2)))
    factors = kernels.factors_of(step)
    kernels.sum_product(unary, step, factors, kind, kind, np.empty((3, 2)), np.zeros((1, 2, 2)))
    print(f"marginals          {time.perf_counter() - began:5.1f} s")


def main():
    for title in ("cold", "cached"):
        print(title, flush=True)
        began = time.perf_counter()
        subprocess.run([sys.executable, __file__, "--call"], check=True)
        print(f"all                {time.perf_counter() - began:5.1f} s\n", flush=True)


if __name__ == "__main__":
    if "--call" in sys.argv:
        call_all()
    else:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["NUMBA_CACHE_DIR"] = folder
            main()
