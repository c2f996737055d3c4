"""``pearl eval shown``"""

from __future__ import annotations

import typer

from eval.commands.options import (
    BertScoreModel,
    BudgetMinutes,
    ChoiceSeed,
    GenerationsFile,
    Limit,
    MaxTokens,
    NearDuplicateShare,
    Stances,
    TemplateName,
    WithoutNearDuplicates,
)
from eval.commands.scored import GainsFiles, Models
from pearl.options import ENCODER_OPTION, IN_FLIGHT_OPTION, JSON_OPTION, LLM_OPTION

EXAMPLES = """A line of the input is a gains record with a target, as for 'pearl eval generation'.

Examples:

\b
  pearl eval shown --gains MODEL.work/gains-dev-mine.jsonl.gz --model MODEL --template commit --json shown.json
  pearl train margin --model MODEL --shown shown.json
"""


def shown(
    gains: GainsFiles,
    model: Models,
    template: TemplateName = "free",
    stances: Stances = False,
    k: int | None = typer.Option(None, "--k", min=1, help="Documents shown at most; the template's number by default."),
    llm: str | None = LLM_OPTION,
    max_in_flight: int = IN_FLIGHT_OPTION,
    max_tokens: MaxTokens = None,
    limit: Limit = None,
    seed: ChoiceSeed = 0,
    without_near_duplicates: WithoutNearDuplicates = False,
    near_duplicates: NearDuplicateShare = None,
    generations: GenerationsFile = None,
    budget_minutes: BudgetMinutes = None,
    encoder: str | None = ENCODER_OPTION,
    bertscore: BertScoreModel = "embedded",
    json: str | None = JSON_OPTION,
) -> None:
    """Compare drafts by the documents shown: a fixed number, or those that score near the best one.

    Every answer is kept: repeat an interrupted command and it goes on where it stopped.
    """
    from eval.commands.writing import Plan, ready, share_set_aside
    from eval.drafts.shown import by_count, shown_report, shown_tables
    from eval.drafts.write import write_drafts
    from eval.report.report import Outputs
    from pearl.settings import load_settings
    from pearl.templates import load_template

    outputs = Outputs(json)
    outputs.check()
    plan = Plan(
        settings=load_settings(llm=llm, encoder=encoder, llm_max_retries=0),  # eval.asking.patience repeats
        gains=gains,
        models=model,
        baselines=(),
        template=template,
        k=k or load_template(template).k,  # named, so that a margin that is there already leaves nothing out
        max_tokens=max_tokens,
        limit=limit,
        seed=seed,
        near_duplicates=share_set_aside(near_duplicates, wanted=without_near_duplicates),
        generations=generations,
        stances=stances,
        budget_minutes=budget_minutes,
        in_flight=max_in_flight,
        bertscore=bertscore,
    )
    with ready(plan) as room:
        cases = room.material.cases
        lots = [by_count(system) for system in room.systems]
        briefs = [plan.briefs(cases, each) for lot in lots for each in lot]
        written = iter(room.write(lambda desk: write_drafts(desk, briefs)))
    with room.console.status("Measuring..."):
        models = [
            shown_report(cases, system, [next(written) for _ in lot], room.scorer, stances=stances)
            for system, lot in zip(room.systems, lots, strict=True)
        ]
    outputs.write(room.report("shown", {"models": models}, shown_tables))
