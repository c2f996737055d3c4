"""What a text says of its author: manner, edges, likeness, claims, and how it is edited."""
