"""The data of training: histories, their split, examples, selection and kept embeddings."""
