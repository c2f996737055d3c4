"""Asking a chat model: what was said, what is kept, how it is asked again and what it costs."""
