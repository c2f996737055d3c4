"""Asking a model many questions: stored replies, retries at an endpoint, cost and progress."""
