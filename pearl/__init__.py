"""PEARL's shared vocabulary: records, settings, chat models, prompt templates, the command line."""

__version__ = "0.1.0"
