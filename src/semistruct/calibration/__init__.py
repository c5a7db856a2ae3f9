"""Probabilities that mean something: how often answers with a certain score are right, and what can be promised."""
