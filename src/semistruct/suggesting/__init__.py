"""Candidate rules from what is labelled, and from what a model sees in the pool.

`candidates` and `words` propose rules, `evidence` counts how often they hold, `sayings` tells what is said already,
`choosing` keeps the best and sorts them, and `writing` makes a rules file of them.
"""

from semistruct.suggesting.choosing import Suggestion, Suggestions, suggest

__all__ = ["Suggestion", "Suggestions", "suggest"]
