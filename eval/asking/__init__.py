"""Asking a judge model: the calls, the grammars of its replies, and the verdict or error parsed from a reply."""
