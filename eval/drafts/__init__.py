"""Drafts by several systems, compared with what the person really wrote."""
