"""Which of three whole drafts would the person have written? A score of a few weights, fitted to the order of ROUGE.

    python docs/experiments/whole.py DATA WORK [MODEL]     writes docs/results/whole.json

The people are those of shown.py, half as many again. Each request is drafted three times as the service makes
variants: the likeliest text, and two drawn at a temperature of .7. A score weighs likeness, facts carried over,
unsupported ones, runs copied from the texts shown, how far the length is from the person's usual one, and what is told
of the request's own words in place of an answer: the share of its runs of three words that the draft repeats. It is
fitted to pairs of drafts for one request, and each user's choice is made by weights that were fitted to the others.
Rule, written first: it ships if the chosen draft's ROUGE (mean of ROUGE-1 and ROUGE-L) is above the first one's by
more than its interval and it carries over no more facts. Drafts are kept in WORK.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
from collections import defaultdict
from contextlib import aclosing
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import shown
from sklearn.linear_model import LogisticRegression

from pearl.cli.options import write_json
from pearl.settings import EMBEDDED, load_settings
from pearl.stats.bootstrap import Bootstrap
from pearl.text.answers.marks import CLOSING
from service.drafting import drafter
from service.services import Services
from service.store import users

OUT = Path(__file__).parents[1] / "results" / "whole.json"
DRAFTS = 3
FEATURES = ("likeness", "carried_over", "unsupported", "copied", "length", "told")


async def drafts(services: Services, user: users.User, case: shown.Case) -> list[dict[str, Any]]:
    kind, *_, texts, target = case
    decoding = drafter.Decoding(max_tokens=256, stop=(CLOSING,))
    job = drafter.DraftJob(
        target.request or "", kind, revise="never", variants=DRAFTS, instead_of=target, decoding=decoding
    )
    async with aclosing(services.drafter.draft(user, job)) as events:
        (made,) = [event.draft async for event in events if isinstance(event, drafter.Finished)]
    usual = median(len(text.text.split()) for text in texts)
    asked = set(shown.runs(target.request or "", 3))
    rows = []
    for variant in made.variants:
        row = shown.compared(variant, case, services.drafter.best)
        rows.append(
            row
            | {name: row["claims"].get(name, 0) for name in shown.CLAIMS}
            | {
                "rouge": (row["rouge1"] + row["rougeL"]) / 2,
                "likeness": row["likeness"] or 0.0,
                "told": len(asked & set(shown.runs(variant.text, 3))) / max(1, len(asked)),
                "length": abs(math.log(max(1, len(variant.text.split())) / usual)),
            }
        )
    return rows


async def run(data: Path, work: Path, model: str) -> list[list[dict[str, Any]]]:
    kept = work / f"{model}-whole.jsonl"
    groups = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    done = {(group[0]["user"], group[0]["id"]) for group in groups if group}
    services = Services(load_settings(home=work, llm=EMBEDDED, llm_model=model, likeness=True))
    services.database.migrate()
    services.drafter.__class__ = shown.Measured
    for case in shown.cases(data, False):
        if (case[2], case[-1].id) in done:
            continue
        groups.append(await drafts(services, shown.fill(services, case), case))
        with kept.open("a") as file:
            file.write(json.dumps(groups[-1]) + "\n")
    await services.stop()
    return [group for group in groups if len(group) > 1]


def weights(groups: list[list[dict[str, Any]]]) -> Any:
    """Fit the weights of the features to the order of ROUGE within each request."""
    pairs = [(a, b) for group in groups for a in group for b in group if a["rouge"] > b["rouge"]]
    better = np.array([[a[name] - b[name] for name in FEATURES] for a, b in pairs])
    both = np.concatenate([better, -better])
    labels = np.repeat([1, 0], len(better))
    return LogisticRegression(fit_intercept=False).fit(both, labels).coef_[0]


def main() -> None:
    data, work, *names = sys.argv[1:]
    shown.USERS, shown.SHIPS = 6, "1e"
    shown.Measured.shown = 1
    model = names[0] if names else shown.MODEL
    groups = sorted(asyncio.run(run(Path(data), Path(work), model)), key=lambda group: group[0]["user"])
    of_user = defaultdict(list)
    for group in groups:
        of_user[group[0]["user"]].append(group)
    chosen = []
    for user, own in of_user.items():
        fitted = weights([group for group in groups if group[0]["user"] != user])
        for group in own:
            chosen.append(max(group, key=lambda row: float(fitted @ [row[name] for name in FEATURES])))
    bootstrap = Bootstrap([group[0]["user"] for group in groups])
    ways = {
        "first": [group[0] for group in groups],
        "chosen": chosen,
        "likeliest": [max(group, key=lambda row: row["likeness"]) for group in groups],
        "best": [max(group, key=lambda row: row["rouge"]) for group in groups],
    }
    names = ("rouge", *FEATURES)
    means = {way: {name: bootstrap.mean([row[name] for row in rows]) for name in names} for way, rows in ways.items()}
    result = {
        "command": "python docs/experiments/whole.py DATA WORK MODEL",
        "requests": len(groups),
        "users": len(of_user),
        "weights": dict(zip(FEATURES, map(float, weights(groups)), strict=True)),
        "ways": {way: {name: mean.to_json() for name, mean in row.items()} for way, row in means.items()},
        "less_first": {
            way: {name: (mean - means["first"][name]).to_json() for name, mean in row.items()}
            for way, row in means.items()
            if way != "first"
        },
    }
    found = json.loads(OUT.read_text()) if OUT.exists() else {}
    found[model] = result
    write_json(str(OUT), found)


if __name__ == "__main__":
    main()
