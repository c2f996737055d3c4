"""One module per command of the command line, as :mod:`pearl.cli.commands` has them."""
