"""Claims of drafts: facts of other texts, facts of nowhere, promises, and facts left out, found by rule."""
