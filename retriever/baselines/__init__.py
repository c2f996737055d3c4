"""Retrievers that are not trained."""
