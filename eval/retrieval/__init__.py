"""How well retrievers choose, and whether their scores say so."""
