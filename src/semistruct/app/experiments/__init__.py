"""Comparisons of methods: draws shared by all methods, records of runs, statistics and tables."""
