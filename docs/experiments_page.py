"""The tables of docs/experiments.md that are made from result files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from results_page import DOMAINS, SHOWN, best_of_baselines, read, table_head, tried

from eval.report.tables import shown
from pearl.settings import EMBEDDED


def prompt_forms_table() -> str:
    """Drafts by each way of showing texts; the other retrievers are compared with more requests below."""
    found = tried("prompt_forms")
    names = {"likeness": "likeness", "copied": "copied", "carried": "facts carried over"}
    names |= {"assistant": "assistant's", "loops": "loops"}
    head = ["users", "texts shown", "ROUGE-1", "less no texts", *names.values(), "words"]
    lines = table_head(head, words=2)
    for split, part in found["splits"].items():
        for row in sorted(part["models"], key=lambda row: -row["rouge1"]):
            if row["documents"] not in (EMBEDDED, "none"):
                continue
            less = shown(row["rouge1_minus_none"], 3, sign=True)
            cells = [split, found["forms"][row["form"]], f"{row['rouge1']:.3f}", less]
            cells += [f"{row[name]:.2f}" for name in names]
            lines.append(f"| {' | '.join([*cells, format(row['words'], '.0f')])} |")
    counts = "; ".join(
        f"{split}: {part['n']} requests of {part['users']} users" for split, part in found["splits"].items()
    )
    return "\n".join(lines) + f"\n\n{counts}; `python docs/experiments/prompt_forms.py`."


def default_model_table() -> str:
    """A row a model of the table."""
    found = tried("default_model")
    names = {"likeness": ".2f", "copied": ".2f", "assistant": ".2f", "loops": ".2f", "words": ".0f", "score": ".3f"}
    head = ["model", "ROUGE-1", "less the smallest", "likeness", "copied", "assistant's", "loops", "words", "score"]
    lines = table_head(head)
    for row in found["models"]:
        cells = [row["model"], f"{row['rouge1']:.3f}", shown(row["rouge1_minus_smallest"], 3, sign=True)]
        cells += [format(row[name], form) for name, form in names.items()]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + f"\n\n{found['n']} requests of {found['users']} dev users; `{found['command']}`."


def chosen_table() -> str:
    """The documents that the retriever that ships chose on each kind of text, and what its score said of them."""
    result = tried("chosen")
    titles = ("requests", "PEARL by the best baseline", "r", "rank correlation", "documents", "help", "said to")
    lines = table_head(("", *titles))
    for name, label in DOMAINS.items():
        own, ratio = result["domains"][name], best_of_baselines(name)["ships_by_this"]
        figures = [shown(figure, 2) for figure in (ratio, own["pearson_r"], own["spearman_rho"])]
        helps = [shown(own[figure], 2) for figure in ("helps", "said_to_help")]
        lines.append(f"| {label} | {' | '.join([str(own['requests']), *figures, str(own['documents']), *helps])} |")
    return "\n".join(lines) + f"\n\nRequests of test users; `{result['command']}`."


def drafts_larger_table() -> str:
    """Drafts by larger models: all figures of each retriever, and PEARL's difference from it in ROUGE-1."""
    found = read("drafts-kinds-larger")
    names = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "bertscore": "BERTScore", "likeness": "likeness"}
    names |= {"copied": "copied", "carried": "facts carried over"}
    names |= {"assistant": "assistant's", "loops": "loops", "words": "words"}
    digits = {"rouge1": 3, "rouge2": 3, "bertscore": 3, "words": 0}
    lines = table_head(["model", "texts shown", "PEARL's less it, ROUGE-1", *names.values()], words=2)
    for model, part in _all(found):
        less = {_way(row): shown(row["rouge1"], 3, sign=True) for row in part["pearl_minus"]}
        for row in sorted(part["systems"], key=lambda row: -row["rouge1"]):
            cells = [f"{row[name]:.{digits.get(name, 2)}f}" for name in names]
            lines.append(f"| {' | '.join([model, _way(row), less.get(_way(row), ''), *cells])} |")
    part = found["models"][0]["parts"][0]
    result = "[All differences, by kind of text too](results/drafts-kinds-larger.json)"
    return "\n".join(lines) + f"\n\n{part['n']} requests of {part['users']} test users; `{found['command']}`. {result}."


def _all(found: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The figures of all kinds of text together, by the size of the model."""
    for model in found["models"]:
        yield model["model"].split("-")[2], next(part for part in model["parts"] if part["kind"] == "all")


def _way(row: Mapping[str, Any]) -> str:
    if row["form"] == "turns":
        return "PEARL's, not told that they are manner"
    return {EMBEDDED: "PEARL's", "none": "none"}.get(row["documents"]) or SHOWN[row["documents"]]
