"""What everything else stands on: errors, whole files, patterns, threads, processes, progress, checked parameters.

Nothing here knows of sequences or labels.
"""
