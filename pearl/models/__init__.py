"""Whatever runs a language model or asks one: chat engines, their weights, prompts, calls in bulk."""
