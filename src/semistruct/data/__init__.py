"""Sequences of tokens with their labels: how text is cut, read, written and scored, and where corpora come from.

Files become a `Corpus` here, and every floor below works on its tokens and labels.
"""
