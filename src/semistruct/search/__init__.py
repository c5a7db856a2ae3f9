"""The best labellings of sequences under rules."""
