"""The best labellings of a chain model, ranked once more by features of blocks and of whole labellings."""
