"""Online: the HTTP API, the store, authentication, importers, the drafting pipeline."""
