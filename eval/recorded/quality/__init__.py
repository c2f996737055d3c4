"""Judgements of writing quality: reading the authors' published files, and checking them for faults."""
