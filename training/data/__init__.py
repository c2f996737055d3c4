"""Training: histories, splits, partitions and the records that everything else is about."""
