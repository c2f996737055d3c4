"""Drafts by several systems against what the person wrote."""
