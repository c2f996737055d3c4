"""``pearl forensics``: one module per command."""

from __future__ import annotations

from eval.commands.forensics import annotate, compare, discover, merge, metrics, pairs, report
from eval.commands.judge.made import GroupedCommand
from pearl.cli.commands import add_commands, group

app = group("Find out what a model's, a person's or a feedback set's manner is made of.")
add_commands(app, pairs)
add_commands(app, annotate, discover, cls=GroupedCommand)
add_commands(app, metrics, compare, report, merge)
