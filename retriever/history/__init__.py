"""Indexes of a user's history: words, n-grams, embeddings and signals, computed once per history."""
