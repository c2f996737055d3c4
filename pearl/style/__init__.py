"""The style of a person: their manner and edges, likeness of texts to theirs, claims in drafts, and edits."""
