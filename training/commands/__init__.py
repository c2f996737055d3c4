"""``pearl train``: one module per step."""

from __future__ import annotations

import typer

from training.commands import chat, fit, floor, margin, requests, retriever, reward, score, select, sets, threshold

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Train a retriever from histories, step by step, or a reward model.",
)
app.command(epilog=requests.EXAMPLES)(requests.requests)
app.command(epilog=score.EXAMPLES)(score.score)
app.command(epilog=sets.EXAMPLES)(sets.sets)
app.command(epilog=select.EXAMPLES)(select.select)
app.command(epilog=fit.EXAMPLES)(fit.fit)
app.command(epilog=margin.EXAMPLES)(margin.margin)
app.command(epilog=floor.EXAMPLES)(floor.floor)
app.command(epilog=threshold.EXAMPLES)(threshold.threshold)
app.command(epilog=retriever.EXAMPLES)(retriever.retriever)
app.command(epilog=chat.EXAMPLES)(chat.chat)
app.command(epilog=reward.EXAMPLES)(reward.reward)


@app.callback()
def root() -> None:
    pass
