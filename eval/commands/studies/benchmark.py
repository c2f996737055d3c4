"""``pearl eval benchmark``: PEARL compared with the usual baselines, on public benchmarks or on histories.

Dimensions in comments: N requests.
"""

from __future__ import annotations

import hashlib
import json as jsonlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Argument, Option

from eval.commands.options import BudgetMinutes, DraftingOptions, DryRun, MaxCost, WritingOptions
from eval.commands.reporting import reporting
from eval.drafts.cases import Case
from eval.drafts.comparison import (
    SECONDS,
    TOKENS,
    Measures,
    TargetMetrics,
    complete,
    counts,
    left_out,
    mean_of_sums,
    metrics_in,
    with_edges_and_costs,
)
from eval.drafts.public_data import BENCHMARKS, Benchmark, BenchmarkData, read_benchmark
from eval.drafts.systems import BASELINE, RAG, System, k_shot_system, rag_prompt, zero_shot_system
from eval.report.head import Head
from eval.report.metric import PEARL, Metric, best_of, figures, to_json
from eval.report.report import Report
from eval.report.tables import Columns, Json, Table, caption_of, metric_columns, named
from eval.retrieval.gains import clusters
from eval.stats.proportions import add_holm
from pearl import __version__
from pearl.cli.options import known
from pearl.models.asking.write import WrittenText, is_no_draft, write_drafts
from pearl.settings import EMBEDDED, load_settings
from pearl.stats.bootstrap import Bootstrap, Floats
from pearl.stats.chance import exchange_p
from retriever.models.bertscore import BertScore
from retriever.templates import AuxiliaryTemplate, auxiliary_template

ABOUT = """NAME is one of

\b
{names}

Without --llm nothing is drafted: a system's gain is what its best document adds to the log-likelihood of the text that
the person really wrote. Drafts are kept: repeat an interrupted command and it goes on where it stopped. The result of
--json is the benchmark's card, too: it says by what data, model, prompts and version it was made.""".format(
    names="\n".join(f"  {each.name:<9} {each.about}: {', '.join(each.files)}" for each in BENCHMARKS.values())
)
EXAMPLES = """
  pearl eval benchmark lamp --data LaMP_4 --users 200
  pearl eval benchmark aeslc --data enron_subject_line --llm openai --users 100 --dry-run
  pearl eval benchmark blogs --data blogs --llm openai --users 100 --json benchmark.json
  pearl eval benchmark history --data history.jsonl.gz --llm embedded --past 10
"""
NONE, OTHERS = "none", ("recent", "random", "bm25", "dense")  # the baselines; --model stands beside them
BEST = "best baseline"
EXAMPLES_WITHOUT = 2  # texts of other people in the auxiliary model's prompt without a document, as in training
TARGET_TOKENS, DOCUMENT_TOKENS, REQUEST_TOKENS = 128, 160, 256  # that it sees, as in training
ASKED_AS = {"message": "comment", "post": "post", "free": "post"}  # its template, by that of drafts
GAIN: Metric[Measures] = Metric(
    "gain",
    "gain",
    "The log-likelihood, in nats, that the best document adds to the text the user really wrote.",
    "mean over requests, under the embedded auxiliary model",
    f"{PEARL}, equation 1",
    1,
    lambda bootstrap, measured: bootstrap.sums(measured.features["gain"], mean_of_sums),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkOptions(DraftingOptions):
    """Options of ``pearl eval benchmark``: the data, the retrievers to measure, and the model that drafts."""

    data: Annotated[Path, Option(metavar="FOLDER", help="Folder of the benchmark's files as published, or a file.")]
    model: Annotated[
        list[str], Option(metavar="MODEL", help="Retriever to measure, embedded by default; repeatable.")
    ] = field(default_factory=lambda: [EMBEDDED])
    users: Annotated[int | None, Option(min=2, help="Measure a sample of this many users, by --seed.")] = None
    targets: Annotated[int, Option(min=1, help="Texts of each user's history to draft again, the newest.")] = 1
    past: Annotated[int | None, Option(min=1, help="Earlier texts of each request, the newest; else all.")] = None
    llm: Annotated[str | None, Option(metavar="LLM", help="Model that drafts, as PEARL_LLM; else only gains.")] = None
    seed: Annotated[int, Option(min=0, help="Seed of the sample of users, and of random choices.")] = 0
    budget_minutes: BudgetMinutes = None
    max_cost: MaxCost = None
    dry_run: DryRun = False
    template: str = ""  # the benchmark's
    limit: int | None = None

    def writing(self, benchmark: Benchmark) -> WritingOptions:
        """The options for drafting with the baselines and the models."""
        shared = {name: getattr(self, name) for name in DraftingOptions.__dataclass_fields__}
        shared |= {"template": benchmark.template, "model": [*OTHERS, *self.model]}
        return WritingOptions(**shared, budget_minutes=self.budget_minutes)


@reporting("eval", "benchmark")
def benchmark(
    options: BenchmarkOptions,
    name: Annotated[str, Argument(metavar="NAME", help="Benchmark, see below.", show_default=False)],
) -> Report:
    """Draft texts that people really wrote, with no history, with baselines and with PEARL, and compare the drafts."""
    from rich.console import Console

    chosen = BENCHMARKS[known("name", name, list(BENCHMARKS))]
    with Console(stderr=True).status("Reading..."):
        data = read_benchmark(chosen, options.data, options.targets)
        cases = data.among(options.users, options.past, options.seed)
    result = {"benchmark": chosen.name, **(gained if options.llm is None else drafted)(options, chosen, cases)}
    result["left_out"] = {why: len(names) for why, names in data.ledger.dropped.items()}
    result["card"] = card_of(options, chosen, data, result.pop("card"))
    return Report(result, benchmark_tables, head=head_of(options, chosen.name))


def drafted(options: BenchmarkOptions, chosen: Benchmark, cases: Sequence[Case]) -> dict[str, Any]:
    """Draft with every system and measure the drafts. A dry run only estimates calls and cost."""
    from eval.commands.writing import WritingMaterial, ready

    material = WritingMaterial(tuple(cases), tuple(cases), {})
    with ready(options.writing(chosen), (), material, options.max_cost) as session:
        systems = [replace(zero_shot_system(cases), name=NONE), *session.systems]
        dense = [system.name for system in systems].index("dense")
        systems.insert(dense + 1, replace(systems[dense], name=RAG, build=rag_prompt))
        all_inputs = [session.plan.all_inputs(cases, system) for system in systems]
        builders = [system.build for system in systems]
        made = zip(all_inputs, builders, strict=True)
        questions = [session.writes.question(inputs, build) for of_system, build in made for inputs in of_system]
        asked = [question for question in questions if question]
        prompts = ([message.content for message in question.messages] for question in asked)
        about = {"model": session.plan.writer, "k": session.plan.shown, "max_tokens": session.plan.longest}
        card = {"card": about | {"bertscore": session.scorer.description, "prompts_sha256": fingerprint(prompts)}}
        if options.dry_run:
            return card | {"requests": len(cases), **session.writes.bench.estimate(asked)}
        written = session.write(lambda context: write_drafts(context, all_inputs, builders=builders))
        with session.console.status("Measuring..."):
            return card | drafts_report(cases, systems, written, session.scorer, options)


def drafts_report(
    cases: Sequence[Case],
    systems: Sequence[System],
    written: Sequence[Sequence[WrittenText]],
    bertscore: BertScore,
    options: BenchmarkOptions,
) -> dict[str, Any]:
    """The figures over the requests for which every system has a draft; failed drafts are counted."""
    together = complete(written)
    usable = list(compress(cases, together))
    target_metrics = TargetMetrics.of(usable, bertscore, None, benchmark=True)
    measured = {}
    for system, drafts in zip(systems, written, strict=True):
        whole = list(compress(drafts, together))
        texts = [draft.text or "" for draft in whole]
        by_target = target_metrics.measure(texts, system.documents(together))
        measured[system.name] = with_edges_and_costs(by_target, usable, whole)
    metrics = [metric for metric in target_metrics.metrics if metric.name in measured[NONE].features]
    result = compared(usable, metrics, measured, systems, options.seed)
    for row, drafts in zip(result["systems"], written, strict=True):
        row |= counts(drafts) | {"refused": sum(map(is_no_draft, drafts))}
    return {"requests": len(cases), **result}


def gained(options: BenchmarkOptions, chosen: Benchmark, cases: Sequence[Case]) -> dict[str, Any]:
    """The figures of each system's gain by its best document. Nothing is drafted."""
    from rich.console import Console

    from eval.commands.writing import WritingPlan, retrieval_systems
    from retriever.models.load_auxiliary import load_auxiliary

    template = auxiliary_template(ASKED_AS[chosen.template])
    card = {"card": {"model": EMBEDDED, "prompts_sha256": fingerprint([[*asdict(template).values()]])}}
    if options.dry_run:
        return card | {"requests": len(cases), "estimate": {"calls": 0}}
    writing, console = options.writing(chosen), Console(stderr=True)
    systems = retrieval_systems(WritingPlan.of(writing), writing.model, cases, console)
    systems.insert(0, replace(zero_shot_system(cases), name=NONE))
    with console.status("Scoring..."):
        gains = auxiliary_gains(load_auxiliary(EMBEDDED), template, cases, systems, options.seed)
    measured = {name: Measures({"gain": np.column_stack((of, np.ones(len(cases))))}) for name, of in gains.items()}
    return card | {"requests": len(cases), **compared(cases, [GAIN], measured, systems, options.seed)}


def auxiliary_gains(
    model: Any, template: AuxiliaryTemplate, cases: Sequence[Case], systems: Sequence[System], seed: int
) -> dict[str, Floats]:
    """For each system, the gain y = log p(t given d, q) - log p(t given q) by each request's best document d, (N,); 0
    without a document. The prompt without d shows texts of other users, the same for all systems (equation 1)."""
    from retriever.models.auxiliary import PairGroup

    def cut(text: str, limit: int) -> str:
        return str(model.decode(model.encode(text, limit)))

    drawn = zero_shot_system(cases)
    if len({case.owner for case in cases}) > 1:
        drawn = k_shot_system(cases, cases, EXAMPLES_WITHOUT, seed, balanced=False)
    gains = {system.name: np.zeros(len(cases)) for system in systems}
    for index, (case, others) in enumerate(zip(cases, drawn.shown, strict=True)):
        request = cut(case.record.request.text, REQUEST_TOKENS)
        shown = {system.name: system.shown[index].documents for system in systems}
        best = {name: documents[0].text for name, documents in shown.items() if documents}
        texts = list(dict.fromkeys(best.values()))
        examples = tuple(cut(document.text, DOCUMENT_TOKENS) for document in others.documents)
        prompts = [template.prompt_without(request, examples)]
        prompts += [template.prompt_with(cut(text, DOCUMENT_TOKENS), request) for text in texts]
        target = tuple(model.encode(case.target, TARGET_TOKENS))
        group = PairGroup(tuple(tuple(model.encode(prompt)) for prompt in prompts), (target,) * len(prompts))
        without, *with_texts = [likelihood.total for likelihood in model.likelihoods([group])[0]]
        gain_of = {text: total - without for text, total in zip(texts, with_texts, strict=True)}
        for name, text in best.items():
            gains[name][index] = gain_of[text]
    return gains


def compared(
    cases: Sequence[Case],
    metrics: Sequence[Metric[Measures]],
    measured: Mapping[str, Measures],
    systems: Sequence[System],
    seed: int,
) -> dict[str, Any]:
    """The figures of each system, and paired differences: of every system from "none", and of each system that is no
    baseline from the best one and from "rag". Permutation p-values are within users, Holm-corrected."""
    drawn = clusters([case.record for case in cases])
    bootstrap = Bootstrap(drawn.names, seed=seed)
    estimates = {name: figures(metrics, bootstrap, of_system) for name, of_system in measured.items()}
    baselines = [system.name for system in systems if system.kind == BASELINE]
    pairs = [(system.name, NONE) for system in systems if system.name != NONE]
    besides = [other for other in (BEST, RAG) if other == BEST or other in measured]
    pairs += [(system.name, other) for system in systems if system.kind != BASELINE for other in besides]
    rows: list[dict[str, Any]] = [{"system": name, "against": other} for name, other in pairs]
    for metric in metrics:
        if metric.name in (SECONDS, TOKENS):
            continue
        values = {name: of_system[metric.name] for name, of_system in estimates.items()}
        others = {NONE: NONE, RAG: RAG, BEST: best_of(metric, {name: values[name] for name in baselines})}
        found = []
        for row in rows:
            name, other = row["system"], others[row["against"]]
            gap = None if other is None else (values[name] - values[other]).to_json()
            if other is not None and gap is not None:
                own, its = (measured[each].features[metric.name] for each in (name, other))
                found.append(
                    (row, {"against": other, **gap, "p_value": exchange_p(own, its, mean_of_sums, drawn.names)})
                )
        for (row, _), gap in zip(found, add_holm([gap for _, gap in found]), strict=True):
            row[metric.name] = gap
    return {
        **drawn.to_json(),
        "systems": [to_json(of_system, system=name) for name, of_system in estimates.items()],
        "differences": rows,
    }


def fingerprint(prompts: Iterable[Sequence[str]]) -> str:
    """The SHA-256 of the prompts, which depends on their order."""
    digest = hashlib.sha256()
    for prompt in prompts:
        digest.update(jsonlib.dumps(prompt).encode() + b"\n")
    return digest.hexdigest()


def card_of(
    options: BenchmarkOptions, chosen: Benchmark, data: BenchmarkData, made: Mapping[str, Any]
) -> dict[str, Any]:
    """The card of a result: the data, sample, model and prompts that figures depend on. Results with equal cards can be
    compared."""
    read = {"files": data.files, "sha256": data.sha256, "read": dict(data.ledger.read)}
    drawn = {"users": options.users, "targets": options.targets, "past": options.past, "seed": options.seed}
    made = {"template": chosen.template, "encoder": load_settings().encoder, **made}
    return {"benchmark": chosen.name, **read, **drawn, **made, "version": __version__}


def head_of(options: BenchmarkOptions, name: str) -> Head:
    """The head of the result: the command that makes the result again."""
    said = ("data", "model", "users", "targets", "past", "llm", "k", "seed", "budget_minutes", "dry_run")
    return Head.of("eval", "benchmark", name, **{option: getattr(options, option) for option in said})


def benchmark_tables(result: Json) -> Iterator[Table]:
    """Yield tables: figures by system, differences from "none" and from the best baseline, and what was left out."""
    if "estimate" in result:
        yield Table.facts(f"{result['requests']:,} requests.", result["estimate"], result["command"])
        return
    metrics = [GAIN] if "gain" in result["systems"][0] else metrics_in(result["systems"][0])
    columns: Columns = {"system": "system", **metric_columns(metrics)}
    missing = left_out(result, "drafts")
    yield Table.of(" ".join((caption_of(result), *missing)), result["systems"], columns, result["command"])
    if "failed" in result["systems"][0]:
        caption = f"Of {result['requests']:,} drafts each."
        yield Table.of(caption, result["systems"], named("system failed refused cut_off"))
    columns = {"system": "system", "less": "against"}
    for metric in metrics:
        if any(metric.name in row for row in result["differences"]):
            columns |= {metric.title: partial(_gap_cell, metric)}
    caption = "Paired differences, with p-values by Holm's method over a column."
    yield Table.of(caption, result["differences"], columns)
    if result["left_out"]:
        yield Table.facts("Left out.", result["left_out"])


def _gap_cell(metric: Metric[Measures], row: Json) -> str:
    """A difference formatted as ``+0.0123 [+0.0021, +0.0224] bm25, p .012``."""
    gap = row.get(metric.name)
    if gap is None:
        return "-"
    form = f"+.{metric.digits}f"
    against = f" {gap['against']}" if row["against"] == BEST else ""
    return f"{gap['value']:{form}} [{gap['low']:{form}}, {gap['high']:{form}}]{against}, p {gap['p_holm']:.3f}"
