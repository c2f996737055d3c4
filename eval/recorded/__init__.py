"""Judgements that somebody else made."""
