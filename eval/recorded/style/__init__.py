"""Recorded judgements of style compared with people's ratings (papers/style-judges.txt)."""
