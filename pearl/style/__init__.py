"""The style of a person: manner, edges and likeness of texts, claims, and edits."""
