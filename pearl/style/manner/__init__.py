"""A person's manner of writing: traits, edges and habits, counted exactly by rule, without a language model."""
