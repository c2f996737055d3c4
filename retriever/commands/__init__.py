"""One module per command of the command line; each has an ``app``."""
