"""Sign-on: recognizing users by an issuer's tokens (OpenID Connect) or by a header that a trusted proxy sets."""
