"""Evaluating recorded judgements, votes and ratings of models and people."""
