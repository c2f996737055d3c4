"""``pearl calibrate``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from pearl.cli.options import (
    JSON_OPTION,
    LLM_OPTION,
    USER_OPTION,
    bundled,
    check_writable,
    write_json,
)
from pearl.settings import load_settings
from pearl.text.usable import check_id

EXAMPLES = """
  pearl calibrate --user ada --dry-run
  pearl calibrate --user ada --voice email --llm openai --max-cost 0.5
  pearl calibrate --user ada --texts 30 --budget-minutes 10 --json calibration.json
  pearl voices show pearl --user ada              what was chosen for the whole history
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateOptions:
    user: Annotated[str | None, typer.Option(metavar="U", help=USER_OPTION.help)] = None
    voice: Annotated[
        str | None, typer.Option("--voice", metavar="V", help="One of the user's voices; the whole history without it.")
    ] = None
    llm: Annotated[str | None, typer.Option(metavar="LLM", help=LLM_OPTION.help)] = None
    texts: Annotated[
        int, typer.Option("--texts", min=30, help="Draft at most this many past texts again, the latest first.")
    ] = 60
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the calls and estimate their highest cost; make none.")
    ] = False
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", min=0, help="Take as many texts as cost no more than this.")
    ] = None
    budget_minutes: Annotated[
        float | None,
        typer.Option("--budget-minutes", min=0, help="Stop asking after this many minutes; go on with a later run."),
    ] = None
    bertscore: Annotated[
        bool | None, typer.Option(help="Measure with BERTScore, too; by default wherever the extra eval is installed.")
    ] = None
    json: Annotated[str | None, typer.Option(metavar="FILE", help=JSON_OPTION.help)] = None


@bundled
def calibrate(options: CalibrateOptions) -> None:
    """Choose theta, margin and k for a user, from their own past texts and with their own chat model.

    Drafts past texts from what lay before each, revises them, and compares both with what the user really wrote. What
    is no better than chance stays at its default. Every reply is kept, so an interrupted run goes on where it stopped.
    """
    # imported here: they load the store and the models, which help does not need
    from service.calibrating.session import Session, calibrate_user
    from service.store.voices import chosen

    check_writable("--json", options.json)
    session = Session(
        # no retries here: pearl.models.asking.patience repeats calls
        load_settings(llm=options.llm, llm_max_retries=0),
        options.user,
        None if options.voice is None else chosen(check_id(options.voice, param="voice")),
        options.texts,
        options.max_cost,
        options.budget_minutes,
        options.dry_run,
        options.bertscore,
    )
    report = calibrate_user(session)
    if options.json:
        write_json(options.json, report)
