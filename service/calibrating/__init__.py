"""Choosing theta, margin and k for one person from their own past texts, with their own chat model."""
