"""Recorded judgements of which of two texts a given person prefers (papers/personalized-judge.txt)."""
