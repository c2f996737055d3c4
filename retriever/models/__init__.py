"""Models and what runs them."""
