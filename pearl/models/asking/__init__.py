"""Asking a model many questions: kept replies, retries at an endpoint, cost and progress."""
