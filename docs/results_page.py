"""docs/results.md, a question a section, and the README's figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from svg_pictures import Bar, intervals_picture

from benchmarks.figures import Result, read_result
from eval.commands.studies.calibration import METRICS as CALIBRATION
from eval.commands.studies.retrieval import METRICS as RETRIEVAL
from eval.drafts.comparison import METRICS as DRAFTS
from eval.report.render import markdown
from eval.report.tables import Table, metrics_table, shown
from pearl.settings import EMBEDDED
from pearl.theta import theta_words
from retriever.calibrated.artifact import SHIPPED, read_manifest
from retriever.registry import ENTRIES
from training.fit.head import HeadOptions

RESULTS = Path(__file__).resolve().parent / "results"
BENCHMARKS = RESULTS.parents[1] / "benchmarks" / "results"
FIGURES = (
    *("top1_gain", "share_of_best", "win_rate", "pearson_r", "calibration_error", "constant_error"),
    *("variance_explained", "rouge1", "rouge2", "bertscore", "likeness"),
)
OURS = "**PEARL**, the artifact that ships"
BETWEEN = "dense-requests"
PUBLISHED = "as published"  # in the result file of cross-encoders
SHOWN = {
    **{entry.name: entry.summary for entry in ENTRIES},
    EMBEDDED: OURS,
    "random (expected)": "chance",
    "best possible": "the best possible, which needs the target",
}
Json = Mapping[str, Any]

# kinds of text: the name in the result files, and in the page
DOMAINS = {
    "lean": "a community's chat",
    "everything": "a mailing list",
    "git": "commits of git",
    "coreboot": "commits of coreboot",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A section of the page: a question, its answer, one small table and one picture."""

    heading: str
    answer: str
    table: Table
    picture: str  # its file, from docs/
    result: str  # the result file that has all figures and the command, from docs/

    def lines(self) -> list[str]:
        table = replace(self.table, caption=f"{self.table.caption}. [All figures]({self.result}).")
        return [f"## {self.heading}\n", f"{self.answer}\n", markdown(table), f"![{self.heading}]({self.picture})\n"]


def results_page() -> str:
    """The page that is read in three minutes."""
    head = (
        "# Results\n\nAll on held-out users of a chat, a mailing list and two projects, seen neither in training nor "
        "in any choice: users are split by a hash of their id into 45% to train on, 15% to choose by and 40% to test. "
        "A gain is the log-likelihood, in nats, that the chosen document adds to the text the user really wrote, under "
        "SmolLM2-135M. Intervals are 95%, by bootstrap over users. Each result file names its command, and "
        "`make train` makes everything again. What failed: [experiments](experiments.md).\n"
    )
    known = {metric.name: metric for metric in (*DRAFTS, *RETRIEVAL, *CALIBRATION)}
    figures = markdown(metrics_table([known[name] for name in FIGURES])).rstrip()
    fold = f"<details>\n<summary>What the figures are</summary>\n\n{figures}\n\n</details>\n"
    return "\n".join([head, fold, *(line for question in questions() for line in question.lines())])


def questions() -> Iterator[Question]:
    yield _choices()
    yield _elsewhere()
    yield _kinds()
    yield _prediction()
    yield _drafts()
    yield _drafts_of_kinds()
    yield _revision()
    yield _waiting()


def pictures() -> dict[str, Callable[[], str]]:
    """The pictures of the page that are made here, by their path from docs/."""
    return {
        "results/choices.svg": lambda: _intervals(
            _chosen_documents(), "top1_gain", "gain of the chosen document, nats", 1
        ),
        "results/elsewhere.svg": _elsewhere_picture,
        "results/kinds.svg": _kinds_picture,
        "results/prediction.svg": lambda: _intervals(
            _sorted(read("calibration"), "pearson_r"), "pearson_r", "correlation of the best score with the gain", 2
        ),
        "results/drafts.svg": lambda: _intervals(_written(read("generation")), "rouge1", "ROUGE-1 of the drafts", 3),
        "results/drafts-kinds.svg": _drafts_of_kinds_picture,
    }


def _choices() -> Question:
    result = read("retrieval")
    gap = _difference(result, EMBEDDED, "top1_gain")
    return Question(
        "Does it choose documents that help more?",
        f"The document that PEARL chooses differs from the one that the best baseline ({_label(gap['against'])}) "
        f"chooses for the same request by {_signed(gap, 1)} nats. {what_ships()}",
        _table(result, _chosen_documents()[1:], RETRIEVAL, ("top1_gain", "share_of_best", "win_rate")),
        "results/choices.svg",
        "results/retrieval.json",
    )


def _chosen_documents() -> list[Json]:
    """The rows of the choices, the best possible first, with the paper's own configuration on the same requests."""
    published = {"model": PUBLISHED, **tried("on_gpu")["overall"]["test"][PUBLISHED]}
    rows = [*_sorted(read("retrieval"), "top1_gain"), published]
    return sorted(rows, key=lambda row: -row["top1_gain"]["value"])


def what_ships() -> str:
    manifest = read_manifest(SHIPPED)
    made_of = f"{HeadOptions().members} small networks on {len(manifest.signals)} signals and a forest"
    share = f"share {manifest.training['selection']['share']:g}, tau {manifest.tau:g}"
    return (
        f"What ships is {made_of}, fitted under the paper's calibrated loss, without a cross-encoder and without the "
        f"paper's selection of requests ({share}). It was chosen because it gains more."
    )


def published_by_kind() -> str:
    """The paper's own configuration beside the cosine between the requests."""
    result = tried("on_gpu")
    rows = {row["name"]: row["domains"] for row in result["rows"]["test"]}
    told = next(training for training in result["trainings"] if training["name"] == PUBLISHED)
    gains = {name: [rows[row][name]["top1_gain"]["value"] for row in (PUBLISHED, BETWEEN)] for name in DOMAINS}
    below = sum(own < other for own, other in gains.values())
    minutes, words = told["gains"]["seconds"] / 60, result["reading"]["request_words"]
    each = [f"{own:.1f} and {other:.1f} ({DOMAINS[name]})" for name, (own, other) in gains.items()]
    return (
        f"The paper's own configuration, a cross-encoder alone, learned for {minutes:.0f} minutes of a GPU from "
        f"commits, and read the first {words} words of a request. In {below} of {len(DOMAINS)} kinds of text it gains "
        f"less than the {SHOWN[BETWEEN]}: in nats {', '.join(each)}."
    )


def _settings() -> Iterator[tuple[str, Json, str]]:
    """Where the choices are compared: a label, the part of the result that counts, and the model."""
    result = read("retrieval")
    yield "all requests", result, EMBEDDED
    yield "without near-duplicates", result["near_duplicates"], EMBEDDED
    for name, label in DOMAINS.items():
        yield f"{label}, trained on the other three", _of_kind(name), _left_out(name)


def _elsewhere() -> Question:
    rows = []
    for label, part, model in _settings():
        gap = _difference(part, model, "top1_gain")
        gains = {row["model"]: shown(row["top1_gain"], 1) for row in part["models"]}
        best = gap["against"]
        rows.append((label, f"{part['n']:,}", gains[model], f"{gains[best]}, {_label(best)}", _signed(gap, 1)))
    return Question(
        "And without near-duplicates, or on a kind of text that it never saw?",
        "Some requests have an almost identical text among the candidates; the gain must not hang on those alone. Nor "
        "on having seen other users of the same kind: the last rows are trained on the other three alone.",
        Table(
            "PEARL against the baseline that is best in each row, on the same requests",
            ("", "requests", "PEARL", "best baseline", "difference, nats"),
            tuple(rows),
        ),
        "results/elsewhere.svg",
        "results/domains.json",
    )


def _elsewhere_picture() -> str:
    bars = [Bar(label, _difference(part, model, "top1_gain"), own=True) for label, part, model in _settings()]
    return intervals_picture("gain over the best baseline, nats", bars, 1, sign=True)


def _of_kind(name: str, file: str = "domains") -> dict[str, Any]:
    """The result on a kind of text, by its name in ``DOMAINS``."""
    found: dict[str, Any] = next(each for each in read(file)["domains"] if each["domain"] == name)
    return found


def _left_out(name: str) -> str:
    """The model that saw no text of a kind, by its name in the kind's result file."""
    return f"work/domains/models/without-{name}"


def _chosen(name: str) -> Json:
    """The result of all retrievers' choices from the histories of one kind of text."""
    found: Json = tried("chosen")["domains"][name]
    return found


def best_of_baselines(name: str) -> Json:
    """The row of the baseline that gains most on one kind of text."""
    baselines = (row for row in _chosen(name)["rows"] if row["name"] != EMBEDDED)
    return max(baselines, key=lambda row: row["top1_gain"]["value"])


def _kinds() -> Question:
    results = {name: _chosen(name) for name in DOMAINS}
    rows, above = [], 0
    for name, label in DOMAINS.items():
        best = best_of_baselines(name)
        own = next(row for row in results[name]["rows"] if row["name"] == EMBEDDED)
        gains = shown(own["top1_gain"], 1), f"{shown(best['top1_gain'], 1)}, {_label(best['name'])}"
        rows.append((label, *gains, _signed(best["ships_less_this"], 1), shown(results[name]["pearson_r"], 2)))
        above += best["ships_less_this"]["value"] > 0
    counts = ", ".join(f"{result['requests']} requests of {result['users']} users" for result in results.values())
    return Question(
        "And in chats and mails?",
        f"From long histories it gains more than the best baseline in {above} of {len(DOMAINS)} kinds of text. How "
        "much a choice helps can be told less well in the chat.",
        Table(
            f"Top-1 gain in nats on test users, among up to 200 texts; {counts}",
            ("", _label(EMBEDDED), "best baseline", "difference", "r of the score"),
            tuple(rows),
        ),
        "results/kinds.svg",
        "experiments/chosen.json",
    )


def _kinds_picture() -> str:
    bars = []
    for name, label in DOMAINS.items():
        best = best_of_baselines(name)
        bars.append(Bar(f"{label}, against {_label(best['name'])}", best["ships_less_this"], own=True))
    return intervals_picture("gain over the best baseline, nats", bars, 1, sign=True)


def _figure(result: Json, model: str, metric: Any) -> str:
    rows = (*result["models"], *result["baselines"])
    return shown(next(row for row in rows if row["model"] == model).get(metric.name), metric.digits)


def _prediction() -> Question:
    result = read("calibration")
    own = next(row for row in result["models"] if row["model"] == EMBEDDED)
    return Question(
        "Does its score say how much it will help?",
        "The score is known before a word is written, and decides which documents are shown and whether the user is "
        f"asked. PEARL's explains {own['variance_explained']['value']:.0%} of the variance of the gain on held-out "
        "users. The calibration error is lower than that of a constant, but chance alone lifts it: read it beside "
        "the constant's.",
        _table(
            result,
            _sorted(result, "pearson_r"),
            CALIBRATION,
            ("pearson_r", "calibration_error", "constant_error", "variance_explained"),
        ),
        "results/prediction.svg",
        "results/calibration.json",
    )


def _drafts() -> Question:
    result = read("generation")
    gap, zero = _difference(result, EMBEDDED, "rouge1"), _difference(result, "zero-shot", "rouge1")
    return Question(
        "Are the drafts closer to what the user really wrote?",
        f"The history makes the difference: without it a draft's ROUGE-1 differs from that of the best baseline "
        f"({_label(gap['against'])}) by {_signed(zero, 3)}, that of one with PEARL's documents by {_signed(gap, 3)}. "
        "The model is small, and any text of the author's teaches it most of the manner. The last row copies the "
        "chosen document instead of writing; its likeness is that of a text to itself.",
        _table(result, _written(result), DRAFTS, ("rouge1", "rouge2", "bertscore", "likeness")),
        "results/drafts.svg",
        "results/generation.json",
    )


def _drafts_of_kinds() -> Question:
    kinds = read("drafts-kinds")["kinds"]
    rows = [(_label(model), *(_drafted(kind, model, "rouge1") for kind in kinds)) for model in _systems(kinds)]
    counts = ", ".join(f"{kind['n']}" for kind in kinds)
    rouge = [{row["model"]: row["rouge1"]["value"] for row in kind["models"]} for kind in kinds]
    helped = sum(values[EMBEDDED] > values["zero-shot"] for values in rouge)
    gaps = [_difference(kind, EMBEDDED, "rouge1") for kind in kinds]
    level = sum(gap["low"] <= 0 <= gap["high"] for gap in gaps)
    larger = read("drafts-kinds-larger")["models"][-1]
    whole = larger["parts"][0]
    rows_of_larger = {row["documents"]: row["rouge1"] for row in whole["systems"] if row["form"] != "turns"}
    best = max(rows_of_larger.keys() - {EMBEDDED, "none"}, key=lambda name: rows_of_larger[name])
    less = {row["documents"]: row["rouge1"] for row in whole["pearl_minus"]}
    return Question(
        "And drafts of chats and mails?",
        "The latest texts of test users, drafted again from all that they had written before, up to 300 words. "
        f"ROUGE-1 is higher with the history than without in {helped} of {len(kinds)} kinds of text. The difference "
        f"between PEARL's documents and the best baseline's has an interval that holds 0 in {level}: so few requests "
        f"do not tell the ways to choose apart. With {larger['model']} and {whole['n']} requests PEARL's drafts "
        f"differ by {_signed(less['none'], 3)} from those without texts, and by {_signed(less[best], 3)} from those of "
        f"the best baseline ({_label(best)}; "
        "[more](experiments.md#do-a-larger-models-drafts-differ-by-what-chooses-the-texts)).",
        Table(f"ROUGE-1; {counts} requests", ("", *(DOMAINS[kind["kind"]] for kind in kinds)), tuple(rows)),
        "results/drafts-kinds.svg",
        "results/drafts-kinds.json",
    )


def _drafts_of_kinds_picture() -> str:
    bars = [
        Bar(f"{DOMAINS[kind['kind']]}, {'PEARL' if model == EMBEDDED else _label(model)}", gap, own=model == EMBEDDED)
        for kind in read("drafts-kinds")["kinds"]
        for model in (EMBEDDED, "zero-shot")
        for gap in (_difference(kind, model, "rouge1"),)
    ]
    return intervals_picture("ROUGE-1 over the best baseline's", bars, 3, sign=True)


def _systems(kinds: Sequence[Json]) -> list[str]:
    return [row["model"] for row in (*kinds[0]["models"], *kinds[0]["baselines"])]


def _drafted(kind: Json, model: str, metric: str) -> str:
    return _figure(kind, model, next(known for known in DRAFTS if known.name == metric))


def _revision() -> Question:
    result = read("revision")
    found = result["models"][0]
    metrics = [metric for metric in DRAFTS if metric.name in ("rouge1", "bertscore", "likeness")]
    rows = tuple(
        (
            row["policy"],
            *(shown(row[metric.name], metric.digits) for metric in metrics),
            f"{row['share_revised']['value']:.0%}",
        )
        for row in found["policies"]
    )
    every = next(row for row in found["policies"] if row["policy"] == "all")["differences"][0]
    theta = (
        "set no threshold, so `selective` revises nothing"
        if found["threshold"] is None
        else f"set the threshold {theta_words(found['threshold'], 2)}, below which `selective` revises"
    )
    return Question(
        "When does revising help?",
        f"Revising every draft with the same small model changes ROUGE-1 by {_signed(every['rouge1'], 3)} and "
        f"likeness by {_signed(every['likeness'], 3)} ([more](experiments.md#revision-by-the-embedded-model)). "
        f"Training measured it on other users and {theta}. A capable model may gain from revising; `pearl calibrate` "
        "finds out.",
        Table(
            f"{found['n']:,} requests of {found['users']:,} users",
            ("revised", *(metric.title for metric in metrics), "share revised"),
            rows,
        ),
        "results/revision.svg",
        "results/revision.json",
    )


def _waiting() -> Question:
    result = _benchmark("first_stage")
    rows = tuple(
        (
            f"{size:,}",
            *(f"{result.figure(f'{size}_{name}').value:.0f} ms" for name in ("p50", "p99", "avx2_p50", "plain_p50")),
        )
        for size in (30, 590, 5900)
    )
    return Question(
        "How long does a request wait for its documents?",
        "As long as its own words take to be encoded, and little more for a long history: the retriever that ships "
        "reads no pair with a cross-encoder.",
        Table(
            f"A request on {result.machine.cores} cores: half of them wait less, 99% of them wait less, half with AVX2 "
            "alone; the same encoder under sentence-transformers, and a cosine with each document",
            ("documents", "p50", "p99", "p50, AVX2", "p50, `SentenceTransformer`"),
            rows,
        ),
        "../benchmarks/results/first_stage.svg",
        "../benchmarks/results/first_stage.json",
    )


def read(name: str, folder: Path = RESULTS) -> dict[str, Any]:
    """A result file of docs/results."""
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found


def tried(name: str) -> dict[str, Any]:
    """A result file of docs/experiments."""
    return read(name, RESULTS.parent / "experiments")


def table_head(titles: Sequence[str], words: int = 1) -> list[str]:
    """The first two lines of a table whose first columns hold words and whose others hold figures."""
    head = "".join(f"| {title}".rstrip() + " " for title in titles)
    return [f"{head}|", "|" + " --- |" * words + " ---: |" * (len(titles) - words)]


def _benchmark(name: str) -> Result:
    return read_result(BENCHMARKS / f"{name}.json")


def _difference(part: Json, model: str, metric: str) -> dict[str, Any]:
    """The model's paired difference from the baseline that is best in the metric."""
    found: dict[str, Any] = next(row for row in part["differences"] if row["model"] == model)[metric]
    return found


def _signed(interval: Json, digits: int) -> str:
    return shown(interval, digits, sign=True)


def _sorted(result: Json, metric: str) -> list[Json]:
    """The rows of what ships, the untrained retrievers and the trivial choices, best first."""
    rows = [row for row in (*result["models"], *result.get("baselines", ())) if row["model"] in SHOWN and row[metric]]
    return sorted(rows, key=lambda row: -row[metric]["value"])


def _written(result: Json) -> list[Json]:
    """Drafts without history, from the best retrievers, and copies of what these chose."""
    wanted = ("zero-shot", "k-shot", "random", "recent", "bm25", "dense-requests", EMBEDDED, f"copy of {EMBEDDED}")
    rows = {row["model"]: row for row in (*result["models"], *result["baselines"])}
    return [rows[name] for name in wanted]


def _table(result: Json, rows: Sequence[Json], metrics: Sequence[Any], names: Sequence[str]) -> Table:
    chosen = [next(metric for metric in metrics if metric.name == name) for name in names]
    cells = tuple(
        (_label(row["model"]), *(shown(row.get(metric.name), metric.digits) for metric in chosen)) for row in rows
    )
    caption = f"{result['n']:,} requests of {result['users']:,} users"
    return Table(caption, ("", *(metric.title for metric in chosen)), cells)


def _intervals(rows: Sequence[Json], metric: str, title: str, digits: int) -> str:
    bars = [
        Bar(_label(row["model"]).replace("*", "").partition(",")[0], row[metric], own=row["model"] == EMBEDDED)
        for row in rows
    ]
    return intervals_picture(title, bars, digits)


def _label(model: str) -> str:
    named = {
        "zero-shot": "no history",
        "k-shot": "texts of other people",
        f"copy of {EMBEDDED}": "a copy of PEARL's choice",
        PUBLISHED: "the paper's configuration, as trained on a GPU",
    }
    return named.get(model) or SHOWN.get(model) or _name(model)


def readme_figures() -> str:
    """The README's table: a few figures, with what each is compared with."""
    choices, drafts, calibration = read("retrieval"), read("generation"), read("calibration")
    waiting, overhead, imported = map(_benchmark, ("first_stage", "draft_overhead", "import"))

    def gain(model: str) -> str:
        rows = (*choices["models"], *choices["baselines"])
        return shown(next(row for row in rows if row["model"] == model)["top1_gain"], 1)

    def drafted(model: str, metric: str) -> str:
        return shown(next(row for row in drafts["models"] if row["model"] == model)[metric], 3)

    def best_drafts(metric: str) -> str:
        gap = _difference(drafts, EMBEDDED, metric)
        best = f"{drafted(gap['against'], metric)} for the best baseline ({_label(gap['against'])})"
        return f"{best}, a difference of {_signed(gap, 3)}"

    def r(model: str) -> str:
        return shown(next(row for row in calibration["models"] if row["model"] == model)["pearson_r"], 2)

    best = _difference(choices, EMBEDDED, "top1_gain")["against"]
    best_r = _difference(calibration, EMBEDDED, "pearson_r")["against"]
    published = tried("on_gpu")["overall"]["test"][PUBLISHED]
    rows = (
        (
            "gain of the chosen text, nats",
            gain(EMBEDDED),
            f"{gain(best)} for the best baseline ({_label(best)}), {shown(published['top1_gain'], 1)} for the paper's "
            f"own configuration, {gain('random (expected)')} by chance",
        ),
        (
            "correlation of its score with the gain",
            r(EMBEDDED),
            f"{r(best_r)} for the best baseline, {shown(published['pearson_r'], 2)} for the paper's own configuration",
        ),
        (
            "ROUGE-1 of the draft",
            drafted(EMBEDDED, "rouge1"),
            f"{best_drafts('rouge1')}; {drafted('zero-shot', 'rouge1')} without the history",
        ),
        ("likeness of the draft to its author's texts", drafted(EMBEDDED, "likeness"), best_drafts("likeness")),
        (
            "finding the texts among 590, median",
            f"{waiting.figure('590_p50').value:.0f} ms",
            f"{waiting.figure('590_plain_p50').value:.0f} ms by the same encoder under sentence-transformers",
        ),
        ("added to the model's own time", f"{overhead.figure('overhead_p50').value:.0f} ms", "590 texts, median"),
        (
            "importing 26,665 commits",
            f"{imported.figure('documents_per_cpu_second').value:,.0f} a second of the processor",
            f"{imported.figure('peak_memory').value:.0f} MiB at most",
        ),
    )
    caption = (
        f"Quality on held-out users of a chat, a mailing list and two projects ({choices['users']}; "
        f"{drafts['users']} of the projects for the drafts), with 95% intervals; the gain is the log-likelihood that "
        f"the chosen text adds to what the user really wrote. Times on {imported.machine.cores} cores."
    )
    table = markdown(Table(caption, ("", "PEARL", "compared with"), rows))
    return (
        table.replace("| --- | ---: | ---: |", "| --- | ---: | --- |", 1) + f"\n{what_ships()} {published_by_kind()}\n"
    )


def _name(cell: str) -> str:
    head, space, last = cell.rpartition(" ")
    return f"{head}{space}{Path(last).name}" if "/models/" in last else cell
