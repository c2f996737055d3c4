"""``pearl eval``: a module per command, which holds its options, figures, tables and picture."""
