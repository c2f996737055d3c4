"""``pearl judge``: the judges' commands, made from their declarations, and those that prepare items for them."""

from __future__ import annotations

from eval.commands.judge import persona_items, quality_chats, quality_items, style_pairs
from eval.commands.judge.made import register
from eval.judges import authorship, personalized, quality, style_detect, style_rank, style_write
from pearl.cli.commands import add_commands, group

app = group("Let a chat model judge texts. Every reply is kept; no question is asked twice.")
for judge in (authorship, personalized, quality, style_detect, style_rank, style_write):
    register(app, judge.JUDGE)
add_commands(app, persona_items, quality_chats, quality_items, style_pairs)
