"""The store: SQLAlchemy Core on SQLite or PostgreSQL, one module per noun.

Functions take an open connection and never commit: the caller decides what belongs together, with
``with database.write() as connection`` (all or nothing) or ``with database.read() as connection``.
"""
