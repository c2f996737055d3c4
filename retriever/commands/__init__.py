"""One module per command of the command line, as :mod:`pearl.commands` has them."""
