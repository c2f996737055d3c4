"""Editing a draft: executable edits, an editor that proposes them, and the best of several candidates."""
