"""``pearl judge``: the judges' commands, made from their declarations, and those that prepare items for them."""

from __future__ import annotations

import typer

from eval.commands.judge import persona_items, quality_chats, quality_items, style_pairs, style_prompts
from eval.commands.judge.made import register
from eval.judges import authorship, personalized, quality, style_detect, style_rank, style_write

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Let a chat model judge texts. Every reply is kept; no question is asked twice.",
)
for judge in (authorship, personalized, quality, style_detect, style_rank, style_write):
    register(app, judge.JUDGE)
app.command(epilog=persona_items.EXAMPLES)(persona_items.persona_items)
app.command(epilog=quality_chats.EXAMPLES)(quality_chats.quality_chats)
app.command(epilog=quality_items.EXAMPLES)(quality_items.quality_items)
app.command(epilog=style_pairs.EXAMPLES)(style_pairs.style_pairs)
app.command(epilog=style_prompts.EXAMPLES)(style_prompts.style_prompts)


@app.callback()
def root() -> None:
    pass
