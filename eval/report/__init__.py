"""How results look: metrics declared as data, tables, pages, pictures."""
