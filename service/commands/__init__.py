"""The commands of the command line, one module for each, in the form that :mod:`pearl.cli.commands` describes."""
