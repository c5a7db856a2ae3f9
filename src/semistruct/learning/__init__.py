"""Learning: from checked data to a fitted model.

`data` checks what a fit is given, `task` makes numbers of it; `learners`, on `solvers`, find weights; `choice` decides
by held-out labels, `trust` by labelled cases of rules; `rounds` is the loop of methods that go on with a pool, and
`checkpoints` keeps how far they are; `ranking` and `held_out` come last.  `fitting` puts these steps in their order,
once for all methods, `path` adds those of methods with a pool, and `labeller` is what a fitted method can do.
"""
