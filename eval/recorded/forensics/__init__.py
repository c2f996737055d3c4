"""Feedback forensics: read pairs of responses with votes, and measure which traits of a text the votes favour."""
