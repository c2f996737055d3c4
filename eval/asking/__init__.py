"""Asking a judge: its model, the grammars of its replies, and what a reply says or fails to say."""
