"""The command ``pearl train chat``: fine-tune a chat model on conversations."""

from __future__ import annotations

from pathlib import Path

import typer

from pearl.cli.options import JSON_OPTION, bundled, check_writable, write_json
from pearl.errors import InputError
from training.chat import ChatTraining, fit_chat, read_conversations, write_account
from training.config import CHOOSE_OPTION, CONFIG_OPTION, choices_help, read_config

ABOUT = """A line is a conversation, of which the last turn is learned:

\b
  {"messages": [{"role": "system", "content": "..."}, {"role": "user", "content": "..."},
                {"role": "assistant", "content": "{\\"preference\\": \\"1\\"}"}]}

`pearl judge items --from quality` writes such conversations from pairs and scored texts, with reasons or without, and
LAMP's own files are some.

MODEL is a whole model, the adapter merged into it, that transformers and inference servers load.

""" + choices_help(ChatTraining)
EXAMPLES = """
  pearl judge items --from quality --data lamp-P.json --out chats.jsonl
  pearl train chat --data chats.jsonl --base HuggingFaceTB/SmolLM2-135M-Instruct --out work/judge
  PEARL_LLM_BASE_URL=http://localhost:8001/v1 PEARL_LLM_MODEL=work/judge pearl judge quality --items pairs.json
"""


@bundled
def chat(
    data: list[Path] = typer.Option(..., "--data", metavar="C.jsonl", help="Conversations to learn from; repeatable."),
    out: Path = typer.Option(..., "--out", metavar="MODEL", help="Folder of the model."),
    base: str = typer.Option(
        "embedded", "--base", help="Chat model to begin with: embedded, a folder or a hub's name."
    ),
    dev: list[Path] = typer.Option(
        [], "--dev", metavar="C.jsonl", help="Conversations to choose the epoch by; repeatable."
    ),
    work: Path | None = typer.Option(None, "--work", metavar="FOLDER", help="Checkpoints; by default MODEL.work."),
    config: Path | None = CONFIG_OPTION,
    choose: list[str] = CHOOSE_OPTION,
    json: str | None = JSON_OPTION,
) -> None:
    """Fine-tune a chat model on conversations with LoRA: a judge of writing, or an editor.

    Repeat an interrupted command and it goes on after the last whole epoch.
    """
    from rich.console import Console

    from training.files import alone_in, check_outside, check_place, replaced, work_folder

    options = ChatTraining(**read_config(ChatTraining, config, choose)[0])
    check_writable("--json", json, [*data, *dev])
    work = work_folder(work, out)
    check_place("out", out)
    check_outside(work, out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"--out {out}: there is something already; name another folder.")
    learned, held = ([turns for path in paths for turns in read_conversations(path)] for paths in (data, dev))
    console = Console(stderr=True)
    with alone_in(work, "work"), replaced(out) as folder:
        figures = fit_chat(base, learned, held, options, work, folder, console)
        account = write_account(folder, base, data, dev, options, figures)
    losses = ", ".join(f"{loss:.4f}" for loss in figures["dev_loss"]) or "no --dev"
    console.print(
        f"{figures['conversations']:,} conversations, {figures['too_long']:,} too long; loss on dev by epoch: {losses}",
        highlight=False,
    )
    if json:
        write_json(json, account | {"model": str(out)})
