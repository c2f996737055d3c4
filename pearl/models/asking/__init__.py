"""Asking a model many questions: replies that are kept, patience with an endpoint, cost and progress."""
