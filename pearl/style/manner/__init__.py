"""A person's manner: traits of a text that are counted by rule, exactly, without a language model."""
