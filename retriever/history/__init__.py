"""What is read off a user's history once, and kept."""
