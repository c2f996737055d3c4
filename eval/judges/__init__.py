"""Judges of texts, and measures of the judges themselves: from replies to verdicts, and from verdicts to figures."""
