"""``pearl eval generation``: how similar each system's drafts are to what the users really wrote (papers/pearl.txt,
section 5.2 and table 1), and whether the best score s1 predicts this (appendix C.3 and table 6).

Dimensions in comments: N requests, B bins, F features, R resamples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import typer

from eval.commands.options import Baselines, WritingOptions
from eval.commands.reporting import reporting
from eval.commands.studies.calibration import pearson_of_bins
from eval.drafts.cases import Case, items_of
from eval.drafts.comparison import (
    BERTSCORE,
    MACRO_F1,
    ROUGE_1,
    ROUGE_2,
    Measures,
    TargetMetrics,
    complete,
    counts,
    macro_f1_of_sums,
    metrics_in,
)
from eval.drafts.stance import STANCES
from eval.drafts.systems import BASELINE, System, constant, copied, k_shot_system, zero_shot_system
from eval.report.metric import PEARL, Metric, differences, figures, to_json
from eval.report.report import Report
from eval.report.tables import (
    Columns,
    Json,
    Table,
    caption_of,
    differences_table,
    figures_table,
    metric_columns,
    named,
)
from eval.retrieval.gains import clusters
from eval.stats.slices import equal_bins
from pearl.errors import InputError
from pearl.models.asking.write import WrittenText, write_drafts
from pearl.stats.bootstrap import Bootstrap, Estimate, Floats
from retriever.models.bertscore import BertScore

ABOUT = """A line of --gains is a gains record with a target:

\b
  {"user_id": "ann", "request": "...", "target": "...", "documents": [{"text": "..."}], "gain": [0.4]}

With --history it is a history, and no gains are needed."""
EXAMPLES = """
  pearl eval generation --gains gains.jsonl.gz --model embedded --model bm25 --template commit
  pearl eval generation --history history.jsonl.gz --model embedded --model bm25 --split test --limit 50
  pearl eval generation --gains gains.jsonl.gz --model bm25 --k-shot --llm openai --limit 200 --json table1.json
  pearl eval generation --gains gains.jsonl.gz --model embedded --model bm25 --drafts drafts.jsonl
  pearl eval generation --gains MODEL.work/gains-dev-mine.jsonl.gz --model MODEL --by-count --json shown.json
  pearl judge authorship --items drafts.jsonl --systems embedded bm25
"""


@reporting("eval", "generation", writes=("drafts",))
def generation(
    options: WritingOptions,
    baseline: Baselines = [],  # noqa: B006  (typer makes a new one)
    zero_shot: bool = typer.Option(True, help="Also draft from the request alone."),
    k_shot: bool = typer.Option(
        False, "--k-shot", help="Also draft from random documents of other users, the same for all."
    ),
    by_count: bool = typer.Option(
        False, "--by-count", help="Compare only how many documents are shown: for pearl train margin."
    ),
    drafts: Path | None = typer.Option(
        None, metavar="FILE.jsonl", help="Write every system's drafts as items for pearl judge authorship."
    ),
) -> Report:
    """Draft real requests and compare the drafts with what the users really wrote: ROUGE, BERTScore, stance;
    and count their claims.

    Every answer is kept: repeat an interrupted command and it goes on where it stopped.
    """
    from eval.asking.json_lines import write_lines
    from eval.commands.writing import ready

    if by_count:
        if baseline or k_shot or drafts or not zero_shot:
            raise InputError("--by-count drafts with --model alone; leave other systems out.")
        return compared_by_count(options)
    with ready(options, baseline) as session:
        cases, plan, systems = session.material.cases, session.plan, [*session.systems]
        if k_shot:
            balanced, everyone, aside = bool(options.stances), session.material.everyone, options.near_duplicates
            strangers = k_shot_system(cases, everyone, plan.shown, balanced=balanced, near_duplicates=aside)
            systems.insert(0, strangers)
        if zero_shot:
            systems.insert(0, zero_shot_system(cases))
        all_inputs = [plan.all_inputs(cases, system) for system in systems]
        written = session.write(lambda context: write_drafts(context, all_inputs))
    if drafts:
        items = items_of(cases, [system.name for system in systems], written, session.writes.model.name)
        write_lines(drafts, items, called=f"{drafts}: cannot be written")
    with session.console.status("Measuring..."):
        stances = options.told_stances()
        figures = generation_report(cases, systems, written, session.scorer, stances=stances)
    head = session.head("generation", no_zero_shot=not zero_shot, k_shot=k_shot)
    return session.report(head, figures, generation_tables)


def compared_by_count(options: WritingOptions) -> Report:
    """Compare drafts by how many documents are shown: fixed numbers, or all documents that score near the best."""
    from eval.commands.writing import ready
    from eval.drafts.by_count import by_count, shown_report, shown_tables
    from pearl.text.templates import load_template

    # with k given, the model's own margin leaves nothing out
    options = replace(options, k=options.k or load_template(options.template).k)
    with ready(options) as session:
        cases = session.material.cases
        groups = [by_count(system) for system in session.systems]
        all_inputs = [session.plan.all_inputs(cases, system) for group in groups for system in group]
        written = iter(session.write(lambda context: write_drafts(context, all_inputs)))
    stances, scorer = options.told_stances(), session.scorer
    with session.console.status("Measuring..."):
        models = [
            shown_report(cases, system, [next(written) for _ in group], scorer, stances=stances)
            for system, group in zip(session.systems, groups, strict=True)
        ]
    return session.report(session.head("generation", by_count=True), {"models": models}, shown_tables)


BINS = 10


@dataclass(frozen=True, slots=True)
class ScoredDrafts:
    """Measures of one system's drafts, and for each request s1: the highest score its retriever gave a document."""

    top_scores: Floats  # s1 of each request, (N,)
    measured: Measures


def _pearson(name: str, bootstrap: Bootstrap, drafts: ScoredDrafts) -> Estimate:
    return bootstrap.pearson(drafts.top_scores, drafts.measured.features[name][:, 0])


def _binned_pearson(name: str, bootstrap: Bootstrap, drafts: ScoredDrafts) -> Estimate:
    """Pearson's r between each bin's lowest s1 and a figure of its drafts. Resamples keep the bins of all requests."""
    _, bins = np.unique(equal_bins(drafts.top_scores, BINS), return_inverse=True)  # (N,)
    inside = np.eye(int(bins.max()) + 1)[bins]  # (N, B)
    starts = np.array([drafts.top_scores[members > 0].min() for members in inside.T])
    features = drafts.measured.features[name]  # (N, F)

    def of_bins(sums: Floats) -> Floats:  # (R, B * F)
        scores = macro_f1_of_sums(sums.reshape(-1, features.shape[1])).reshape(-1, len(starts))  # (R, B)
        return pearson_of_bins(np.broadcast_to(starts - starts.mean(), scores.shape), scores)

    return bootstrap.sums((inside[:, :, None] * features[:, None, :]).reshape(len(features), -1), of_bins)


CORRELATIONS: tuple[Metric[ScoredDrafts], ...] = (
    *(
        Metric(
            name,
            f"r with {title}",
            f"Whether the best score says what {title} the draft will have.",
            f"correlation over requests of s1 with {title}",
            f"{PEARL}, table 6",
            2,
            partial(_pearson, name),
        )
        for name, title in ((ROUGE_1, "ROUGE-1"), (ROUGE_2, "ROUGE-2"), (BERTSCORE, "BERTScore"))
    ),
    Metric(
        MACRO_F1,
        "r with Macro-F1",
        "Agreement of the best score with how often the draft takes the user's stance.",
        f"correlation over {BINS} bins of equally many requests by s1 of the bins' lowest s1 and Macro-F1",
        f"{PEARL}, appendix C.3 and table 6",
        2,
        partial(_binned_pearson, MACRO_F1),
    ),
)


def generation_report(
    cases: Sequence[Case],
    systems: Sequence[System],
    written: Sequence[Sequence[WrittenText]],
    bertscore: BertScore,
    *,
    stances: str | None,
) -> dict[str, Any]:
    """Measure and compare the systems' drafts, ``written[i]`` of system i, on the requests for which every system has
    one; count failed drafts. ``stances``: as in :class:`TargetMetrics`. Raises ChatError if no request is left."""
    together = complete(written)
    usable = list(compress(cases, together))
    target_metrics = TargetMetrics.of(usable, bertscore, stances)
    trivial = [copied(system) for system in systems if all(shown.top for shown in system.shown)]
    trivial += [constant(stance, len(cases)) for stance in STANCES] if stances else []
    texts: list[tuple[System, Sequence[str | None]]] = [(system, system.texts or ()) for system in trivial]
    for system, drafts in zip(systems, written, strict=True):
        texts.append((system, [draft.text for draft in drafts]))
    measured = {
        system.name: target_metrics.measure(
            [text or "" for text in compress(of_system, together)], system.documents(together)
        )
        for system, of_system in texts
    }
    compared = ComparedSystems(tuple(usable), target_metrics.metrics, (*systems, *trivial))
    result = compared.table(measured)
    for row, system, drafts in zip(result["models"], systems, written, strict=True):
        row |= counts(drafts)
        top_scores = [shown.top.score for shown in compress(system.shown, together) if shown.top]
        if len(top_scores) == len(usable):
            row["s1_pearson_r"] = compared.correlations(ScoredDrafts(np.array(top_scores), measured[system.name]))
    if stances:
        taken = {"target": target_metrics.stances} | {name: drafts.stances for name, drafts in measured.items()}
        result["stances"] = {name: stance_counts(stances_of) for name, stances_of in taken.items()}
    return {"requests": len(cases), **result}


@dataclass(frozen=True, slots=True)
class ComparedSystems:
    """Systems that are compared on the requests for which every system has a text."""

    cases: tuple[Case, ...]
    metrics: tuple[Metric[Measures], ...]
    systems: tuple[System, ...]

    def table(self, measured: Mapping[str, Measures]) -> dict[str, Any]:
        """The number of requests, the figures of each system, and paired differences from the best baseline."""
        drawn = clusters([case.record for case in self.cases])
        bootstrap = Bootstrap(drawn.names)
        names = [system.name for system in self.systems]
        measures = {name: figures(self.metrics, bootstrap, measured[name]) for name in names}
        baselines = [system.name for system in self.systems if system.kind == BASELINE]
        rows = [(system.texts, to_json(measures[system.name], model=system.name)) for system in self.systems]
        return {
            **drawn.to_json(),
            "models": [row for texts, row in rows if texts is None],
            "baselines": [row for texts, row in rows if texts],
            "differences": differences(self.metrics, measures, measures, baselines),
        }

    def correlations(self, drafts: ScoredDrafts) -> dict[str, Any]:
        """The correlation of s1 with each metric of one system's drafts."""
        bootstrap = Bootstrap(clusters([case.record for case in self.cases]).names)
        names = {metric.name for metric in self.metrics}
        return to_json(figures([metric for metric in CORRELATIONS if metric.name in names], bootstrap, drafts))


def stance_counts(stances: Sequence[str | None]) -> dict[str, Any]:
    taken = Counter(stance or "unlabelled" for stance in stances)
    return {name: taken[name] for name in (*STANCES, "unlabelled")}


def generation_tables(result: Json) -> Iterator[Table]:
    """Yield tables of failures, figures, differences from the best baselines, and correlations with s1."""
    metrics = metrics_in(result["models"][0])
    yield Table.of(f"Of {result['requests']:,} drafts each.", result["models"], named("model failed cut_off"))
    yield figures_table(result, metrics)
    yield differences_table(result, metrics)
    # how well s1 said what the drafts would be, for models that have an s1
    with_s1 = [{"model": row["model"], **row["s1_pearson_r"]} for row in result["models"] if "s1_pearson_r" in row]
    if with_s1:
        caption = "Pearson r of the best score s1 with the figures of the drafts, as in the paper's table 6. "
        columns: Columns = {"model": "model"}
        columns |= metric_columns(metric for metric in CORRELATIONS if metric.name in with_s1[0])
        yield Table.of(caption + caption_of(result), with_s1, columns, result["command"])
