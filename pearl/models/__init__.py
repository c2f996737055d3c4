"""All that runs or asks a language model: chat engines, their weights, prompts, and calls in bulk."""
