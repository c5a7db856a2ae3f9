"""The compiled kernels and the arrays around them: sequences as a batch of numbered features, and inference on chains.

Kernels know arrays only.  Their callers allocate, spread the work over threads and turn silent failures into errors.
"""
