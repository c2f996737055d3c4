"""Evaluation of recorded data: judgements, votes and ratings that models and people gave earlier."""
