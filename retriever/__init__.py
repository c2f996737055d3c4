"""Retrievers, which score and rank a person's past documents for a request."""
