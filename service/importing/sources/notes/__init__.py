"""Reading notes and blog posts: metadata, dates, markup, and which files are no text of the author."""
