"""The tables of docs/experiments.md that are made from result files."""

from __future__ import annotations

from results_page import DOMAINS, best_of_baselines, table_head, tried

from eval.report.tables import shown


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
