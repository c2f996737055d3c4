"""``pearl judge``: a command for each judge, made from the judge's declaration, and a command that makes items."""

from __future__ import annotations

from eval.commands.judge import items
from eval.commands.judge.made import register
from eval.judges import authorship, personalized, quality, style_detect, style_rank, style_write
from pearl.cli.commands import add_commands, group

app = group("Let a chat model judge texts. Every reply is kept; no question is asked twice.")
for judge in (authorship, personalized, quality, style_detect, style_rank, style_write):
    register(app, judge.JUDGE)
add_commands(app, items)
