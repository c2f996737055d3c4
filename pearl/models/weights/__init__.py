"""Weights of chat models: the table of models, the folder of weights in PEARL_HOME, and how they are fetched."""
