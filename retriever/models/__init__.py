"""Encoders, cross-encoders and auxiliary models, their weights, and the runtimes that compute them."""
