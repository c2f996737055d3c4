"""Chat models: one protocol (``base``), an endpoint (``endpoint``), the embedded model (``embedded``), a fake."""
