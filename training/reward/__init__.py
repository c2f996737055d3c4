"""Training of reward models (papers/writing-quality-rewards.txt, section 3)."""
