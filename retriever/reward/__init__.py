"""Reward models, which score how well a paragraph is written, from 1 to 10 (papers/writing-quality-rewards.txt)."""
