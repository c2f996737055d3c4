"""Claims in drafts, found by rule: facts from other texts or from nowhere, promises, and facts left out."""
