"""Chat models: one protocol (``base``), an endpoint (``endpoint``), any GGUF file on this machine (``gguf_chat``)."""
