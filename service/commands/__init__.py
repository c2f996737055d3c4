"""One module for each command of the command line, in the form that :mod:`pearl.cli.commands` describes."""
