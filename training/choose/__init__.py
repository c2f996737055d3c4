"""Training: the criterion a fit is chosen by, its worth, and the operating point."""
