"""The commands of ``pearl eval``: each module has one command with its options, figures, tables and picture."""
