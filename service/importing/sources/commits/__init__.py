"""Reading commit messages: what of them the author wrote, and which of them nobody did."""
