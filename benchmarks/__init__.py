"""What PEARL costs, measured on the real processes: ``python -m benchmarks [NAME ...]``."""
