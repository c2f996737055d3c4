"""Training: losses, the two stages and what they are fitted on."""
