"""The commands ``pearl forensics``."""

from __future__ import annotations

from eval.commands.forensics import annotate, discover, figures, merge, pairs
from eval.commands.judge.made import GroupedCommand
from pearl.cli.commands import add_commands, group

app = group("Find out what a model's, a person's or a feedback set's manner is made of.")
add_commands(app, pairs)
add_commands(app, annotate, discover, cls=GroupedCommand)
app.add_typer(figures.app)
add_commands(app, merge)
