"""The trained retriever: cheap signals, a head that scores from them, a cross-encoder, and the artifact of all."""
