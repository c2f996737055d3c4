"""The tables and pictures of docs/results.md that are made from result files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from svg_pictures import Bar, intervals_picture

from eval.commands.studies.calibration import METRICS as CALIBRATION
from eval.commands.studies.retrieval import METRICS as RETRIEVAL
from eval.drafts.comparison import BENCHMARK_METRICS
from eval.drafts.comparison import METRICS as DRAFTS
from eval.report.render import markdown
from eval.report.tables import Columns, Table, interval, metric_columns, metrics_table, shown
from pearl.settings import EMBEDDED
from retriever.registry import ENTRIES

RESULTS = Path(__file__).resolve().parent / "results"
METRICS = {metric.name: metric for metric in (*DRAFTS, *BENCHMARK_METRICS, *RETRIEVAL, *CALIBRATION)}
FIGURES = (
    *("top1_gain", "share_of_best", "win_rate", "pearson_r", "calibration_error", "constant_error"),
    *("variance_explained", "rouge1", "rouge2", "bertscore", "likeness"),
)
LABELS = {
    **{entry.name: entry.summary for entry in ENTRIES},
    EMBEDDED: "**PEARL**, the artifact that ships",
    "random (expected)": "chance",
    "zero-shot": "no history",
    "k-shot": "texts of other people",
    f"copy of {EMBEDDED}": "a copy of PEARL's choice",
    "as published": "the paper's configuration, as trained on a GPU",
}
WRITTEN = ("zero-shot", "k-shot", "random", "recent", "bm25", "dense-requests", EMBEDDED, f"copy of {EMBEDDED}")
# kinds of text: the name in the result files, and in the page
DOMAINS = {
    "lean": "a community's chat",
    "everything": "a mailing list",
    "git": "commits of git",
    "coreboot": "commits of coreboot",
}
BENCHMARKS = {
    "aeslc": "mails of AESLC",
    **{f"aeslc-past{n}": f"the same, {n} texts before each" for n in (5, 10, 20, 50)},
    "digitalgov": "posts of digital.gov",
}
OF_DRAFTS = ("rouge1", "carried_over", "edges")
Json = Mapping[str, Any]


def tables() -> dict[str, str]:
    """Return the Markdown of each table, by the name in the page's marks."""
    calibration, drafts, revision = map(read, ("calibration", "generation", "revision"))
    policies = revision["models"][0]
    return {
        "metrics": markdown(metrics_table([METRICS[name] for name in FIGURES])),
        "choices": _figures(read("retrieval"), _choices()[1:], "top1_gain", "share_of_best", "win_rate"),
        "elsewhere": _rows("PEARL against the baseline that is best in each row, on the same requests.", _settings()),
        "kinds": _rows("Top-1 gain in nats on requests of test users, among up to 200 texts.", map(_of_kind, DOMAINS)),
        "prediction": _figures(calibration, _sorted(calibration, "pearson_r"), *FIGURES[3:7]),
        "drafts": _figures(drafts, _written(drafts), *FIGURES[7:]),
        "drafts-kinds": _rows("ROUGE-1.", _drafts_of_kinds()),
        "benchmark": _rows("Gain of the best document, nats.", map(_of_benchmark, BENCHMARKS)),
        "benchmark-drafts": _of_drafts(),
        "revision": _figures(revision | policies, policies["policies"], "rouge1", "bertscore", "likeness"),
    }


def pictures() -> dict[str, str]:
    """Return the page's pictures as SVG, by their path from docs/."""
    calibration, drafts = read("calibration"), read("generation")
    over = "gain over the best baseline, nats"
    kinds = [
        Bar(f"{DOMAINS[kind['kind']]}, {'PEARL' if model == EMBEDDED else label(model)}", gap, model == EMBEDDED)
        for kind in read("drafts-kinds")["kinds"]
        for model in (EMBEDDED, "zero-shot")
        for gap in (_difference(kind, model, "rouge1"),)
    ]
    drawn = {
        "choices": _bars(_choices(), "top1_gain", "gain of the chosen document, nats", 1),
        "elsewhere": _gaps(_settings(), over),
        "kinds": _gaps(map(_of_kind, DOMAINS), over),
        "prediction": _bars(
            _sorted(calibration, "pearson_r"), "pearson_r", "correlation of the best score with the gain", 2
        ),
        "drafts": _bars(_written(drafts), "rouge1", "ROUGE-1 of the drafts", 3),
        "content-published": intervals_picture("median score of the authors' reward model", list(_by_prompt()), 2),
        "drafts-kinds": intervals_picture("ROUGE-1 over the best baseline's", kinds, 3, sign=True),
    }
    return {f"results/{name}.svg": picture for name, picture in drawn.items()}


def _by_prompt() -> Iterator[Bar]:
    """A bar a writer and prompt; people had no prompt of either kind."""
    for group in read("content-published")["groups"]:
        people = group["origin"] in ("expert", "MFA")
        if not people or group["prompt"] == "detailed":
            name = group["origin"].removesuffix("-exp-03-25")
            yield Bar(name if people else f"{name}, {group['prompt']}", group["median"], people)


def read(name: str) -> dict[str, Any]:
    """Read a result file of docs/results; ``../`` leads to others."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def label(model: str) -> str:
    return LABELS.get(model, model)


def _choices() -> list[Json]:
    """The retrievers with the paper's own configuration, and the best possible choice first."""
    rows = [*_sorted(read("retrieval"), "top1_gain", "best possible"), read("published")]
    return sorted(rows, key=lambda row: -row["top1_gain"]["value"])


def _sorted(result: Json, metric: str, *more: str) -> list[Json]:
    """The rows of what ships and of the untrained retrievers, best first."""
    rows = [row for row in (*result["models"], *result.get("baselines", ())) if row["model"] in (*LABELS, *more)]
    return sorted((row for row in rows if row[metric]), key=lambda row: -row[metric]["value"])


def _written(result: Json) -> list[Json]:
    """Drafts without history, from the best retrievers, and copies of what these chose."""
    rows = {row["model"]: row for row in (*result["models"], *result["baselines"])}
    return [rows[name] for name in WRITTEN]


def _settings() -> Iterator[Json]:
    """A row for each part of the test in which PEARL is compared: all of it, and each kind of text by itself."""
    whole = read("retrieval")
    yield _compared("all requests", whole, EMBEDDED)
    yield _compared("without near-duplicates", whole["near_duplicates"], EMBEDDED)
    for part in read("domains")["domains"]:
        name = part["domain"]
        yield _compared(f"{DOMAINS[name]}, trained on the other three", part, f"work/domains/models/without-{name}")


def _compared(name: str, part: Json, model: str) -> Json:
    gap = _difference(part, model, "top1_gain")
    gains = {row["model"]: shown(row["top1_gain"], 1) for row in part["models"]}
    best = f"{gains[gap['against']]}, {label(gap['against'])}"
    cells = {"requests": f"{part['n']:,}", "PEARL": gains[model], "best baseline": best}
    return {"": name, **cells, "difference, nats": gap}


def _of_kind(name: str) -> Json:
    """The row of a kind of text: PEARL's choices from long histories beside the baseline that gains most."""
    part = read("../experiments/chosen")["domains"][name]
    rows = {row["name"]: row for row in part["rows"]}
    best = max(rows.keys() - {EMBEDDED}, key=lambda other: rows[other]["top1_gain"]["value"])
    return {
        "": f"{DOMAINS[name]}, {part['requests']} of {part['users']} users",
        "PEARL": shown(rows[EMBEDDED]["top1_gain"], 1),
        "best baseline": f"{shown(rows[best]['top1_gain'], 1)}, {label(best)}",
        "difference, nats": rows[best]["ships_less_this"],
        "r of the score": shown(part["pearson_r"], 2),
    }


def _of_benchmark(name: str) -> Json:
    """The row of a benchmark: the gain of each system's best document, and PEARL's over the best baseline's."""
    result = read(f"benchmark-{name}")
    gains = {row["system"]: shown(row["gain"], 1) for row in result["systems"] if row["system"] != "none"}
    gap = next(row["gain"] for row in result["differences"] if row["against"] == "best baseline")
    about = f"{BENCHMARKS[name]}, {result['requests']} of {result['users']} users"
    return {"": about, "PEARL": gains.pop(EMBEDDED), **gains, "PEARL less the best": gap}


def _of_drafts() -> str:
    """The figures of each system's drafts of AESLC."""
    result = read("benchmark-aeslc-drafts")
    columns: Columns = {"": lambda row: "PEARL" if row["system"] == EMBEDDED else row["system"]}
    columns |= metric_columns([METRICS[name] for name in OF_DRAFTS])
    return markdown(Table.of(f"{result['n']} requests of {result['users']} users.", result["systems"], columns))


def _drafts_of_kinds() -> Iterator[Json]:
    kinds = {
        f"{DOMAINS[kind['kind']]} ({kind['n']})": {row["model"]: row for row in (*kind["models"], *kind["baselines"])}
        for kind in read("drafts-kinds")["kinds"]
    }
    for model in next(iter(kinds.values())):
        yield {"": label(model)} | {kind: shown(rows[model]["rouge1"], 4) for kind, rows in kinds.items()}


def _difference(part: Json, model: str, metric: str) -> Json:
    """The model's paired difference from the baseline that is best in the metric."""
    found: Json = next(row for row in part["differences"] if row["model"] == model)[metric]
    return found


def _figures(result: Json, rows: Sequence[Json], *names: str) -> str:
    """A row a model or policy, a column a metric."""
    columns: Columns = {"": lambda row: label(row["model"]) if "model" in row else row["policy"]}
    columns |= {METRICS[name].title: interval(name, METRICS[name].digits) for name in names}
    if "policy" in rows[0]:
        columns["share revised"] = lambda row: f"{row['share_revised']['value']:.0%}"
    return markdown(Table.of(f"{result['n']:,} requests of {result['users']:,} users.", rows, columns))


def _rows(caption: str, rows: Iterator[Json] | map[Json]) -> str:
    """Rows of cells by their titles, a difference with its sign."""
    made = list(rows)
    columns: Columns = {
        title: interval(title, 1, sign=True) if isinstance(cell, Mapping) else title for title, cell in made[0].items()
    }
    return markdown(Table.of(caption, made, columns))


def _gaps(rows: Iterator[Json] | map[Json], title: str) -> str:
    return intervals_picture(title, [Bar(row[""], row["difference, nats"], own=True) for row in rows], 1, sign=True)


def _bars(rows: Sequence[Json], metric: str, title: str, digits: int) -> str:
    bars = [
        Bar(label(row["model"]).replace("*", "").partition(",")[0], row[metric], own=row["model"] == EMBEDDED)
        for row in rows
    ]
    return intervals_picture(title, bars, digits)
