"""Constraint matching by label switching: labels that fit both the model and the rules."""
