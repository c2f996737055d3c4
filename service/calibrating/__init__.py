"""Choosing theta, margin and k for one person from their past texts, with their chat model."""
