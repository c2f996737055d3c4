"""Documents in, scored documents out."""
