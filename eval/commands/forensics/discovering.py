"""The run of ``pearl forensics discover``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.console import Console

from eval.asking.bench import Bench, bench
from eval.asking.json_lines import write_lines
from eval.commands.forensics.asking import PairsOptions, check_out
from eval.commands.forensics.discover import DiscoverOptions
from eval.judges import traits
from eval.judges.discover import (
    PRESETS,
    Discovery,
    decided_items,
    discover,
    merge_question,
    proposal_questions,
    split,
    to_json,
)
from eval.judges.items import sampled
from eval.judges.judge import Questions
from eval.judges.traits import JUDGE, TraitItem, TraitOptions, annotated, instruction, items_of, longest_reply
from eval.recorded.forensics.pair_files import read_pairs, write_pairs
from eval.recorded.forensics.pairs import Annotator, named
from eval.report.head import Head
from eval.report.report import Outputs, Report
from eval.report.tables import Columns, Json, Table
from pearl.cli.options import write_json, write_text
from pearl.errors import ChatError, InputError
from pearl.settings import load_settings
from retriever.models.encoder import SentenceEncoder

LEAST_PAIRS = 2


def run_discovery(options: DiscoverOptions, asking: PairsOptions) -> None:
    """Ask for what is not kept, and write the candidates. Raises InputError for options and files that cannot be used,
    ChatError where no proposal could be read."""
    outputs, console = Outputs(asking.json), Console(stderr=True)
    others = {"--traits": options.traits, "--judgements": asking.judgements}
    outputs.check([asking.items], others)
    if options.out:
        check_out(options.out, {**others, "--json": asking.json})
    discovery = discovery_of(options, asking)
    data = read_pairs(asking.items)
    reference = named(data.annotators, options.reference, "--reference: ")
    items = sampled(decided_items(items_of(data, str(asking.items)).every, reference), asking.limit, asking.seed)
    if len(items) < LEAST_PAIRS:
        raise InputError(
            f"{asking.items}: '{reference.name}' chooses a text of {len(items)} pairs; it takes {LEAST_PAIRS} to learn "
            "from.",
            code="too_few_pairs",
        )
    asking = replace(asking, max_tokens=asking.max_tokens or longest_reply(discovery.voting))
    encoder = SentenceEncoder(load_settings(encoder=options.embed).encoder)
    with bench(asking.asking(), console) as at:
        asked = {"pairs": asking.items, **asdict(options), **asking.drawing(), "seed": asking.seed}
        head = Head.of("forensics", "discover", judge=at.model.identity, **asked)
        if asking.dry_run:
            parts = estimate(at, items, reference, discovery)
            write_json(asking.json or "-", head.to_json() | {"estimate": parts})
            return
        discovered = discover(items, reference, discovery, at, encoder.encode_documents)
        if discovered is None:
            raise ChatError("No reply proposes a rule that can be read; try another model.", code="nothing_proposed")
        if asking.judgements:
            lines = JUDGE.lines(discovered.judgements, discovered.voting)
            write_lines(asking.judgements, lines, called=f"--judgements {asking.judgements}")
    if options.out:
        write_pairs(options.out, annotated(data, discovered.judgements, discovered.voting))
    if options.traits:
        rules = [rule.cluster.rule for rule in discovered.rules if not rule.faults(discovery)]
        write_text("--traits", options.traits, "".join(f"{rule}\n" for rule in rules))
    figures = {
        "reference": reference.name,
        "preset": asking.preset,
        "choices": {**traits.choices_of(discovered.voting), "voted": discovery.voted, "share_of": discovery.share_of},
        "votes": discovered.voting.votes,
        "n": len(items),
        **to_json(discovered, discovery),
    }
    outputs.write(head, Report(figures, discovery_tables))


def discovery_of(options: DiscoverOptions, asking: PairsOptions) -> Discovery:
    """Raises InputError for unknown choices."""
    chosen: dict[str, Any] = PRESETS.chosen(asking.preset, asking.choose)
    voted, share_of = chosen.pop("voted"), chosen.pop("share_of")
    chosen["votes"] = options.votes or int(chosen["votes"])
    voting = TraitOptions(preset=asking.preset, seed=asking.seed, per_call=options.per_call, **chosen)
    return Discovery(options.proposals, options.clusters, options.least, voted, share_of, voting)


def estimate(at: Bench, items: Sequence[TraitItem], reference: Annotator, discovery: Discovery) -> dict[str, Any]:
    """The calls and the highest cost of each step. Rules that nobody has proposed yet count as a dozen words."""
    proposing, voting = split(items, discovery.voted)
    rules = tuple(
        instruction(f"has more of the quality {number} than others do, by far") for number in range(discovery.clusters)
    )
    voted = replace(discovery.voting, rules=rules)
    merging = [merge_question((rule, *rules)) for rule in rules]
    return {
        "proposals": at.estimate(proposal_questions(proposing, reference, discovery.proposals))["estimate"],
        "merging": at.estimate(merging)["estimate"],
        "votes": at.estimate(Questions(JUDGE, voting, voted))["estimate"],
    }


def discovery_tables(result: Json) -> Iterator[Table]:
    """The candidates with their votes, those that stay first."""
    columns: Columns = {"trait": "trait", "stays": lambda row: "yes" if row["kept"] else ", ".join(row["faults"])}
    columns |= {name: name for name in ("for", "against", "abstain", "both", "neither", "invalid", "without")}
    unread = sum(result["unread"].values())
    caption = (
        f"Rules that explain the choices of {result['reference']}: {result['proposed']:,} proposals by "
        f"{result['judge']}, {result['distinct']:,} of them different, {unread:,} replies without one; voted on by "
        f"{result['voted_on']:,} pairs."
    )
    yield Table.of(caption, result["candidates"], columns, result["command"])
