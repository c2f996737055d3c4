"""Weights of chat models: which there are, where they lie under PEARL_HOME, and how they get there."""
