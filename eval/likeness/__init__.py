"""Measuring likeness: whether a person's texts can be told from other people's."""
