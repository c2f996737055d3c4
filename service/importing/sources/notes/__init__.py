"""Reading notes and posts: front matter, dates, markup, and what is no text of the author."""
