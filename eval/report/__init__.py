"""Presentation of results: metrics declared as data, tables, HTML pages and pictures."""
