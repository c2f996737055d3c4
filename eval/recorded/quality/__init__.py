"""Judgements of writing quality: files as the authors publish them, and what is wrong with them."""
