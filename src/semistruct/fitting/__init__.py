"""What the learning methods share."""
