"""The trained retriever: signals, head, cross-encoder, cascade, and the artifact that holds them."""
