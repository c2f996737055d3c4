"""The online service: the HTTP API, the store, authentication, importers, the drafting pipeline."""
