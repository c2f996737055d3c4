"""Guessing which importer reads a path."""
