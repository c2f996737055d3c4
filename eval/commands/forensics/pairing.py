"""The run of ``pearl forensics pairs``: requests of a history, drafts by a model, pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console

from eval.commands.forensics.asking import check_out
from eval.commands.forensics.pairs import MannerOptions
from eval.commands.writing import Plan, drafts_of, writer
from eval.drafts.generation import counts
from eval.drafts.manner_pairs import answered, manner_pairs
from eval.recorded.forensics.pair_files import write_pairs
from eval.report.head import Head
from eval.report.report import Outputs, Report
from eval.report.tables import Json, Table
from pearl.asking.cost import Prices
from pearl.errors import ChatError
from pearl.options import write_json
from pearl.prompts import Brief
from pearl.templates import load_template


def pair_history(options: MannerOptions, json: str | None) -> None:
    """Draft what is not kept, and write the pairs. Raises InputError for options and files that cannot be used,
    ChatError where no request has a draft."""
    outputs, console = Outputs(json), Console(stderr=True)
    outputs.check()
    check_out(options.out)
    plan, template = Plan.of(options), load_template(options.template)
    cases = answered(options.history, options.user, options.targets)
    prices = Prices(options.price_in, options.price_out)
    with writer(plan, prices, options.max_cost, console) as writes:
        questions = [writes.question(Brief(template, case.request)) for case in cases]
        fitting = [question for question in questions if question]
        if options.dry_run:
            write_json(json or "-", head_of(options, plan).to_json() | writes.bench.estimate(fitting))
            return
        asked = writes.bench.ask("drafts", fitting)
        drafts = drafts_of(questions, asked.replies())
        model = writes.model.name
    data = manner_pairs(cases, [draft.text for draft in drafts], model, options.seed)
    if not data.pairs:
        raise ChatError(f"No request has a draft: {counts(drafts)['failures']}.", code="nothing_generated")
    write_pairs(options.out, data)
    users = {case.user: 0 for case in cases}
    for pair in data.pairs:
        users[pair.metadata["user"]] += 1
    figures = {"writer": plan.writer, "n": len(data.pairs), **counts(drafts), "elicitation": asked.to_json()}
    outputs.write(head_of(options, plan), Report({**figures, "users": users}, pairing_tables))


def head_of(options: MannerOptions, plan: Plan) -> Head:
    asked = {"history": options.history, "out": options.out, "user": list(options.user), "targets": options.targets}
    asked |= {"template": options.template, "llm": plan.settings.llm, "max_tokens": plan.longest, "seed": options.seed}
    return Head.of("forensics", "pairs", judge=None, **asked)


def pairing_tables(result: Json) -> Iterator[Table]:
    """The pairs of each user."""
    rows = tuple((user, f"{count:,}", result["writer"]) for user, count in result["users"].items())
    failed: dict[str, Any] = result["failures"]
    without = ", ".join(f"{count} without a draft ({reason})" for reason, count in failed.items())
    caption = f"{result['n']:,} pairs; {result['cut_off']} drafts cut off{', ' + without if without else ''}."
    yield Table(caption, ("user", "pairs", "against drafts of"), rows, result["command"])
