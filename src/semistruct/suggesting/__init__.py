"""Candidate rules from what is labelled, and from what a model sees in the pool.

`structure` and `words` propose rules, `evidence` counts how often they hold, `sayings` tells what is said already,
`choosing` keeps the best and sorts them, and `suggestions` makes a rules file of them.
"""
