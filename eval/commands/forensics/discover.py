"""``pearl forensics discover``: find traits that explain an annotator's choices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from eval.asking.bench import JudgeSession
from eval.asking.json_lines import write_lines
from eval.commands.forensics.annotate import DRAWING, PairsOptions, VotesOnPair, check_out
from eval.commands.judge.made import ask_model
from eval.judges import traits
from eval.judges.discover import (
    PRESETS,
    Discovery,
    decided_items,
    merge_question,
    proposal_questions,
    split,
    to_json,
)
from eval.judges.discover import discover as discover_rules
from eval.judges.items import sampled
from eval.judges.judge import Questions
from eval.judges.traits import JUDGE, TraitItem, TraitOptions, annotated, instruction, items_of, longest_reply
from eval.recorded.forensics.pair_files import read_pairs, write_pairs
from eval.recorded.forensics.pairs import Annotator, named
from eval.report.head import Head
from eval.report.report import Outputs, Report
from eval.report.tables import Columns, Json, Table
from pearl.cli.options import bundled, write_text
from pearl.errors import ChatError, InputError
from pearl.settings import load_settings
from retriever.models.encoder import SentenceEncoder

ABOUT = f"""A chat model proposes rules that could explain the choices of an annotator, an encoder and the model
merge those that say the same, and votes on pairs decide which stay: more votes for a rule than against it, most of
them valid, and a tenth of them for it (--least).

The file of --traits can be given to pearl forensics annotate for other pairs.

{PRESETS.help()}

{DRAWING.help()}"""
EXAMPLES = """
  pearl forensics discover --pairs drafts.json --reference person --llm openai --dry-run
  pearl forensics discover --pairs drafts.json --reference person --llm openai --out found.json --traits mine.txt
  pearl forensics metrics --pairs found.json --reference person
"""
LEAST_PAIRS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoverOptions:
    """Options of ``pearl forensics discover``. ``per_call``: how many candidate rules one question for votes may
    have."""

    reference: Annotated[str, Option(metavar="NAME", help="Annotator whose choices are to be explained.")]
    out: Annotated[Path | None, Option(metavar="PAIRS", help="Write the pairs with the votes on all candidates.")] = (
        None
    )
    traits: Annotated[Path | None, Option(metavar="FILE", help="Write the traits that stay, one a line.")] = None
    proposals: Annotated[int, Option(min=1, max=10, help="Rules that the model proposes in one reply.")] = 3
    clusters: Annotated[int, Option(min=1, help="Candidates to vote on at most.")] = 20
    least: Annotated[float, Option(min=0, max=1, help="Share of votes for a rule that it needs to stay.")] = 0.1
    votes: VotesOnPair = None
    per_call: Annotated[int, Option(min=1, max=40, help="Candidates to ask about in one call at most.")] = 40


@bundled
def discover(options: DiscoverOptions, asking: PairsOptions) -> None:
    """Discover traits in which the texts an annotator chose differ from the rejected ones, with any chat model.

    Every reply is kept: repeat an interrupted command and it goes on where it stopped.
    """
    asking, outputs = asking.drawn(), Outputs(asking.json)
    others = {"--traits": options.traits, "--judgements": asking.judgements}
    outputs.check([asking.items], others)
    if options.out:
        check_out(options.out, {**others, "--json": asking.json})
    discovery = discovery_of(options, asking)
    data = read_pairs(asking.items)
    reference = named(data.annotators, options.reference, "--reference: ")
    items = sampled(
        decided_items(items_of(data, str(asking.items)).every, reference), asking.limit, asking.drawing.seed
    )
    if len(items) < LEAST_PAIRS:
        raise InputError(
            f"{asking.items}: '{reference.name}' chooses a text of {len(items)} pairs; it takes {LEAST_PAIRS} to learn "
            "from."
        )
    asking = replace(asking, drawing=asking.drawing.at_most(longest_reply(discovery.voting)))
    settings = load_settings()
    encoder = SentenceEncoder(settings.encoder)
    asked = {"pairs": asking.items, **asdict(options), **asking.reply_options()}

    def report(at: JudgeSession) -> Report:
        discovered = discover_rules(items, reference, discovery, at, encoder.encode_documents)
        if discovered is None:
            raise ChatError("No reply proposes a rule that can be read; try another model.")
        voting = discovered.voting
        if asking.judgements:
            lines = JUDGE.lines(discovered.judgements, voting)
            write_lines(asking.judgements, lines, called=f"--judgements {asking.judgements}")
        if options.out:
            write_pairs(options.out, annotated(data, discovered.judgements, voting))
        if options.traits:
            rules = [rule.cluster.rule for rule in discovered.rules if not rule.faults(discovery)]
            write_text("--traits", options.traits, "".join(f"{rule}\n" for rule in rules))
        figures = {
            "reference": reference.name,
            "preset": asking.preset,
            "choices": {**traits.choices_of(voting), "voted": discovery.voted, "share_of": discovery.share_of},
            "votes": voting.votes,
            "n": len(items),
            **to_json(discovered, discovery),
        }
        return Report(figures, discovery_tables)

    ask_model(
        asking,
        outputs,
        lambda model: Head.of("forensics", "discover", judge=model, settings=settings, **asked),
        lambda at: {"estimate": estimate(at, items, reference, discovery)},
        report,
    )


def discovery_of(options: DiscoverOptions, asking: PairsOptions) -> Discovery:
    """The settings of a discovery, from the command's options. Raises InputError for unknown choices."""
    chosen: dict[str, Any] = PRESETS.chosen(asking.preset, asking.choose)
    voted, share_of = chosen.pop("voted"), chosen.pop("share_of")
    chosen["votes"] = options.votes or int(chosen["votes"])
    voting = TraitOptions(preset=asking.preset, seed=asking.drawing.seed, per_call=options.per_call, **chosen)
    return Discovery(options.proposals, options.clusters, options.least, voted, share_of, voting)


def estimate(
    at: JudgeSession, items: Sequence[TraitItem], reference: Annotator, discovery: Discovery
) -> dict[str, Any]:
    """Upper bounds on calls and cost of proposing rules, merging them and voting. A rule that is not proposed yet is
    taken to have a dozen words."""
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
    """A table of the candidate rules with their votes; the rules that stay come first."""
    columns: Columns = {"trait": "trait", "stays": lambda row: "yes" if row["kept"] else ", ".join(row["faults"])}
    columns |= {name: name for name in ("for", "against", "abstain", "both", "neither", "invalid", "without")}
    unread = sum(result["unread"].values())
    caption = (
        f"Rules that explain the choices of {result['reference']}: {result['proposed']:,} proposals by "
        f"{result['judge']}, {result['distinct']:,} of them different, {unread:,} replies without one; voted on by "
        f"{result['voted_on']:,} pairs."
    )
    yield Table.of(caption, result["candidates"], columns, result["command"])
