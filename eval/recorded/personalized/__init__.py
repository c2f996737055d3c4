"""Recorded judgements of which of two texts a person prefers (papers/personalized-judge.txt)."""
