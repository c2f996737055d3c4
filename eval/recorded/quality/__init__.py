"""Judgements of writing quality: reading files as the authors publish them, and checking them for faults."""
