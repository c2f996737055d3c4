"""Gains of documents: computing equation 1 for a history's requests, files of scores, and estimates by proxy."""
