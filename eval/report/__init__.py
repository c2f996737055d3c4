"""Presentation of results: metrics declared as data, tables, pages, pictures."""
