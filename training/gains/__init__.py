"""Training: equation 1 for a history's requests, its scores' files, and what stands in for them."""
