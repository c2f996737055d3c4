"""The tables of docs/experiments.md that are made from result files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from results_page import DOMAINS, SHOWN, best_of_baselines, read, table_head, tried

from eval.report.tables import shown
from pearl.settings import EMBEDDED


def prompt_forms_table() -> str:
    """Drafts by each way of showing texts, dev and test users beside each other."""
    found = tried("prompt_forms")
    names = {"likeness": "likeness", "copied": "copied", "carried": "facts carried over"}
    names |= {"assistant": "assistant's", "loops": "loops"}
    head = ["users", "texts shown", "ROUGE-1", "less no texts", *names.values(), "words"]
    lines = table_head(head, words=2)
    for split, part in found["splits"].items():
        for row in sorted(part["models"], key=lambda row: -row["rouge1"]):
            by = "" if split == "dev" or row["documents"] == "none" else f", by {row['documents']}"
            less = shown(row["rouge1_minus_none"], 3, sign=True)
            cells = [split, found["forms"][row["form"]] + by, f"{row['rouge1']:.3f}", less]
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


def drafts_larger_tables() -> str:
    """Drafts by larger models: all figures of each retriever, and PEARL's differences in all and by kind."""
    found = read("drafts-kinds-larger")
    names = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "bertscore": "BERTScore", "likeness": "likeness"}
    names |= {"copied": "copied", "carried": "facts carried over"}
    rest = {"assistant": "assistant's", "loops": "loops", "words": "words"}
    lines = table_head(["model", "texts shown", *names.values(), *rest.values()], words=2)
    for model, part in _parts(found, "all"):
        for row in sorted(part["systems"], key=lambda row: -row["rouge1"]):
            digits = {
                name: 0 if name == "words" else 3 if name in ("rouge1", "rouge2", "bertscore") else 2
                for name in (*names, *rest)
            }
            cells = [f"{row[name]:.{number}f}" for name, number in digits.items()]
            lines.append(f"| {' | '.join([model, _way(row), *cells])} |")
    lines += ["", "PEARL's drafts less the others, in all:", ""]
    lines += table_head(["model", "less", *names.values()], words=2)
    for model, part in _parts(found, "all"):
        for row in part["pearl_minus"]:
            cells = [shown(row[name], 3, sign=True) for name in names]
            lines.append(f"| {' | '.join([model, _way(row), *cells])} |")
    kinds = [part["kind"] for part in found["models"][0]["parts"]][1:]
    lines += ["", "The same in ROUGE-1, by kind of text:", ""]
    lines += table_head(["model", "less", *(DOMAINS.get(kind, kind) for kind in kinds)], words=2)
    for model, whole in _parts(found, "all"):
        for place, row in enumerate(whole["pearl_minus"]):
            parts = [part for kind in kinds for name, part in _parts(found, kind) if name == model]
            cells = [shown(part["pearl_minus"][place]["rouge1"], 3, sign=True) for part in parts]
            lines.append(f"| {' | '.join([model, _way(row), *cells])} |")
    part = found["models"][0]["parts"][0]
    return "\n".join(lines) + f"\n\n{part['n']} requests of {part['users']} test users; `{found['command']}`."


def _parts(found: Mapping[str, Any], kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The figures of one kind of text, by the size of the model."""
    for model in found["models"]:
        yield model["model"].split("-")[2], next(part for part in model["parts"] if part["kind"] == kind)


def _way(row: Mapping[str, Any]) -> str:
    if row["form"] == "turns":
        return "PEARL's, not told that they are manner"
    return {EMBEDDED: "PEARL's", "none": "none"}.get(row["documents"]) or SHOWN[row["documents"]]
