"""Rules as bits of a labelling, and the loss they make."""
