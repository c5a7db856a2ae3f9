"""Labellings under rules: exact search, label switching, bounds."""
