"""Feedback forensics: pairs of responses with votes, and which traits the votes favour."""
