"""Recorded judgements of style against people (papers/style-judges.txt)."""
