"""Sign-on: users whom an issuer's tokens (OpenID Connect) or a trusted proxy's header name."""
