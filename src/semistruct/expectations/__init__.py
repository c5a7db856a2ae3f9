"""Rules as expectations: rows, projection, shares, and their gradients."""
