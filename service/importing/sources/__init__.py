"""Importers: each reads one kind of source into documents. They are found by entry point (``pearl.importers``)."""
