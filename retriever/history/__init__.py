"""Readings of a user's history, taken once and kept."""
