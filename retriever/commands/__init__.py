"""The retriever's commands, one module for each, in the form that :mod:`pearl.cli.commands` describes."""
