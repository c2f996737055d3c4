"""Judges of texts, and what is known of the judges: replies to verdicts, verdicts to figures."""
