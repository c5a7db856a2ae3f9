"""Comparisons of methods: draws that all methods share, records of runs, statistics and tables of them."""
