"""Fitting the two stages of the retriever: losses, head, cross-encoder, level, and the material to fit on."""
