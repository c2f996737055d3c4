"""``pearl eval quality``: how well scorers of writing quality agree with people, on pairs, origins, edits and
rankings."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from eval.commands.options import Overrides, RewardName
from eval.commands.reporting import reporting
from eval.recorded.quality.experts import PRESETS, expert_tables, read_triplets
from eval.report.report import Report
from pearl.cli.options import known
from pearl.errors import InputError

ABOUT = """--pairs: a record is a pair of texts, the better one, and where it is known the pair's origin:

\b
  {"paragraph1": "...", "paragraph2": "...", "reference_preference": "2", "origin": "human-AI"}

Files are JSON arrays or JSON Lines; LAMP's chats with a preference are read, too. A file is a set.

--texts: a line is a text and who wrote it; "prompt", short or detailed, says how much of the content it gave:

\b
  {"instruction": "7", "origin": "author", "prompt": "detailed", "text": "..."}
  {"instruction": "7", "origin": "some-model", "prompt": "short", "text": "..."}

The authors' files, with an instruction's "responses" in a record, are read, too; without a scorer their recorded scores
("score_pre") are shown.

To let a reward model know how good people's own writing can be, train it with their paragraphs as well, scored as the
paper scores them: 10 for award-winning authors, 7.5 for published students ({"paragraph": "...", "score": 7.5}).

--traces: a record is a chat in which the user gives a paragraph and the assistant edits it in three parts:

\b
  {"messages": [{"role": "user", "content": "... Here is the paragraph you are editing:\\n..."},
                {"role": "assistant", "content": "Part 1: ...\\nSpan 1: `...` (Category: `Cliche`)\\n ..."}]}

--annotations: a record is a first draft and two edits of it, with a score each, and what experts make of them:

\b
  {"id": "t1", "genre": "fiction", "llm": "gpt", "first_draft": {"wqrm_score": 3.8, "candidate": "..."},
   "random_cot": {...},
   "best_cot": {...}, "annotations": [{"best_cot": "Most Preferred Writing Option", ...}, ...]}

""" + PRESETS.help()
EXAMPLES = """
  pearl eval quality --pairs lamp.json --model embedded --json -
  pearl eval quality --pairs lamp.json --trained-on train.jsonl.gz --model MODEL
  pearl eval quality --pairs lamp.json --pairs mirror.json --scorer compression --perplexity
  pearl eval quality --texts texts.jsonl --model work/reward --reference author
  pearl eval quality --traces edit-cot-test_dataset.json.gz --scorer shorter --json - | jq .sensitivity
  pearl eval quality --annotations WQRM_annotations.json.gz --choose raters=any --json - | jq .majority
"""
# what is measured with, and the options that go with it alone
GO_WITH = {
    "pairs": ("scorer", "trained_on", "perplexity"),
    "texts": ("scorer", "reference"),
    "traces": ("scorer", "training_records"),
    "annotations": ("preset", "choose"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityOptions:
    """Options of ``pearl eval quality``. Exactly one of pairs, texts, traces and annotations must be given."""

    pairs: Annotated[list[Path], Option(metavar="F.json", help="Pairs of texts, a set a file; repeatable.")] = field(
        default_factory=list
    )
    texts: Annotated[list[Path], Option(metavar="T.jsonl", help="Texts with their origins; repeatable.")] = field(
        default_factory=list
    )
    traces: Annotated[Path | None, Option(metavar="F.json", help="Chats that edit a paragraph in three parts.")] = None
    annotations: Annotated[
        Path | None, Option(metavar="F.json", help="Triplets with scores and experts' rankings.")
    ] = None
    model: RewardName = None
    scorer: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="Trivial scorer: shorter, longer, first (of --pairs), compression, type_token or perplexity. All but "
            "perplexity are baselines of a --model on --pairs.",
        ),
    ] = None
    trained_on: Annotated[
        list[Path],
        Option(
            metavar="F.json",
            help="Training records: pairs with their paragraphs are named, and a linear model on surface features is "
            "fitted on them; repeatable.",
        ),
    ] = field(default_factory=list)
    perplexity: Annotated[
        bool,
        Option("--perplexity", help="Count the embedded model's perplexity among the baselines, 0.1 to 0.5 s a text."),
    ] = False
    reference: Annotated[str | None, Option(metavar="ORIGIN", help="Origin of --texts to compare with.")] = None
    training_records: Path | None = None  # an option of its own, since it is written to
    preset: Annotated[str | None, Option(help="Preset of the choices below.", show_default=PRESETS.default)] = None
    choose: Overrides = None


@reporting("eval", "quality", page=True, writes=("training_records",))
def quality(
    options: QualityOptions,
    training_records: Path | None = typer.Option(
        None,
        metavar="FILE.jsonl",
        help="Write --traces as chats to train an editor on, with the edits that can be executed.",
    ),
) -> Report:
    """Measure how well a scorer knows good writing: on pairs, by origin, on edits one by one, or beside experts."""
    options = replace(options, training_records=training_records)
    given = [name for name in GO_WITH if getattr(options, name)]
    if len(given) != 1:
        raise InputError("Give one of --pairs, --texts, --traces and --annotations.")
    for option in fields(options):
        kinds = [kind for kind, names in GO_WITH.items() if option.name in names]
        if kinds and given[0] not in kinds and getattr(options, option.name):
            flag = f"--{option.name.replace('_', '-')}"
            raise InputError(f"{flag}: does nothing for --{given[0]}; leave it out.")
    return {"pairs": of_pairs, "texts": of_texts, "traces": of_traces, "annotations": of_experts}[given[0]](options)


def of_pairs(options: QualityOptions) -> Report:
    """Measure how often a scorer prefers the better text of a pair, compared with every trivial scorer."""
    from eval.recorded.quality.benchmark import quality_report, quality_tables, read_sets
    from eval.recorded.quality.checks import PAIR_CHECKS, cut_check
    from eval.recorded.quality.scorers import BY_NAME, PERPLEXITY, SCORERS, reward_pair_scorer, surface_scorer
    from pearl.errors import ChatError, PearlError
    from retriever.reward.artifact import COSINE
    from retriever.reward.model import RewardModel

    model, scorer = options.model, options.scorer
    if model is None and scorer is None:
        raise InputError("Name a reward model with --model, or a scorer with --scorer.")
    if scorer is not None:
        known("scorer", scorer, BY_NAME)
    if model is None:
        measured, checks = BY_NAME[scorer or ""], PAIR_CHECKS
    else:
        reward = RewardModel.load(model)
        measured, artifact = reward_pair_scorer(model, reward), reward.artifact
        checks = (*PAIR_CHECKS, cut_check(artifact.max_tokens, together=artifact.pairs == COSINE))
    trivial = (*SCORERS, PERPLEXITY) if options.perplexity or scorer == PERPLEXITY.name else SCORERS
    sets = read_sets(options.pairs, options.trained_on, checks)
    surface = surface_scorer(options.trained_on)
    others = [surface] if surface else []
    try:
        figures = quality_report(sets, measured, trivial, others)
    except ChatError as error:
        raise PearlError(f"{error.message} Or leave the perplexity out.") from error
    return Report(figures, quality_tables, "Writing quality")


def of_texts(options: QualityOptions) -> Report:
    """Measure the scores of texts by who wrote them, and by whether their prompt was detailed."""
    from eval.recorded.quality.content import content_report, content_tables, read_texts, recorded_scorer
    from eval.recorded.quality.scorers import text_scorer

    chosen = text_scorer(options.scorer, options.model)
    every = read_texts(options.texts)
    chosen = chosen or recorded_scorer(every)
    if chosen is None:
        raise InputError("nothing scores the texts: give --model or --scorer.")
    return Report(content_report(every, chosen, options.reference), content_tables, "Writing by its origin")


def of_traces(options: QualityOptions) -> Report:
    """Execute recorded edits, count why some are refused, and measure how much each edit changes a score."""
    from eval.asking.json_lines import write_lines
    from eval.recorded.quality.edit_traces import executed, execution_report, read_traces, training_records
    from eval.recorded.quality.edits import edit_tables, sensitivity_report
    from eval.recorded.quality.scorers import text_scorer

    assert options.traces is not None
    chosen, target = text_scorer(options.scorer, options.model), options.training_records
    executed_traces = executed(read_traces(options.traces))
    figures = execution_report(executed_traces)
    if chosen is not None:
        figures["scorer"] = chosen.name
        figures["sensitivity"] = sensitivity_report(executed_traces, chosen.scores)
    if target is not None:
        write_lines(target, training_records(executed_traces), called=f"--training-records {target}")
    return Report(figures, edit_tables)


def of_experts(options: QualityOptions) -> Report:
    """Measure how often experts prefer the text with the higher score, by the gap between the scores."""
    from eval.recorded.quality.gap_calibration import RIVALS, ExpertOptions, experts_report, rescored_report
    from eval.recorded.quality.scorers import OF_TEXTS, reward_scorer

    assert options.annotations is not None
    preset = options.preset or PRESETS.default
    chosen = PRESETS.chosen(preset, options.choose)
    expert_options = ExpertOptions(preset=preset, **chosen)
    triplets = read_triplets(options.annotations)
    figures = experts_report(triplets, expert_options)
    if options.model is not None:
        scorers = [reward_scorer(options.model), *(OF_TEXTS[name] for name in RIVALS)]
        figures["rescored"] = rescored_report(triplets, scorers, expert_options)
    said = {"preset": preset, "choose": [f"{name}={value}" for name, value in chosen.items()]}
    return Report(figures, expert_tables, "Scores and experts", options=said)
