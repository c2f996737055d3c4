"""Statistics: arrays in, figures out."""
