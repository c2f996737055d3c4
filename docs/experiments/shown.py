"""How many texts a draft between its own edges needs: past texts drafted again with none, one, two and four shown.

    python docs/experiments/shown.py DATA WORK [MODEL] [aeslc]     writes docs/results/shown.json

DATA is as in ../shared/data/README.md. Into the PEARL_HOME at WORK come the 60 latest texts of up to four dev users of
each kind (for posts, whose authors wrote few, of any but test users), and the sample user's letters. Each draft is made
as the service makes it, as if the text were not there yet. An arm is a number of texts, and "e" with edges or "-"
without. Drafts are kept in WORK: what is done is not done again. With "aeslc" the people of mail/aeslc.jsonl.gz, on
whom nothing is chosen, are measured with what ships (1e) and with what shipped before (4-).
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import regex
from rouge_score import rouge_scorer

from pearl.cli.options import write_json
from pearl.records import Document, Draft, Edges, Variant
from pearl.settings import EMBEDDED, load_settings
from pearl.stats.bootstrap import Bootstrap
from pearl.text.answers.marks import CLOSING
from pearl.text.history.partition import DEV, SPLITS, TRAIN, split_of
from service.drafting import drafter
from service.drafting.edged import PLACEHOLDER
from service.sample import sample_documents
from service.services import Services
from service.store import documents, users, voices

OUT = Path(__file__).parents[1] / "results" / "shown.json"
MODEL = "Qwen2.5-Coder-1.5B-Instruct"
ARMS = ("4-", "4e", "2e", "1e", "0e")
BEFORE, SHIPS, MEASURED = "4-", "1e", "aeslc"
ALWAYS = 0.8  # share of the person's texts that have an edge which a draft is to have
USERS, LATEST, LETTERS, LONGEST = 4, 60, 8, 256  # the last: tokens of a draft
VALUES, CLAIMS = ("rouge1", "rougeL", "likeness", "copied", "read", "wrote"), ("carried_over", "unsupported")
RUN = 5  # words of a copied run
KINDS = {  # file, template, least texts of a user, most words of a text to draft
    "list": ("mail/everything", "message", 12, 180),
    "chat": ("chat/lean", "message", 12, 180),
    "git": ("commits/git", "commit", 12, 180),
    "coreboot": ("commits/coreboot", "commit", 12, 180),
    "posts": ("posts/18f", "post", 6, 700),
    MEASURED: ("mail/aeslc", "message", 12, 180),
}
Case = tuple[str, str, str, Sequence[Document], Document]  # kind, template, user, the user's texts, the one to draft


def cases(data: Path, measured: bool) -> Iterator[Case]:
    for kind, (file, template, least, most) in KINDS.items():
        if measured != (kind == MEASURED):
            continue
        found, wanted = 0, {"posts": (TRAIN, DEV), MEASURED: SPLITS}.get(kind, (DEV,))
        texts = histories(data / f"{file}.jsonl.gz")
        for user, written in sorted(sorted(texts.items()), key=lambda entry: -min(len(entry[1]), LATEST)):
            latest = written[-LATEST:]
            if len(latest) < least or split_of(user) not in wanted:
                continue
            fit = [text for text in latest[least - 2 :] if wordy(text.request, 3, 10**6) and wordy(text.text, 20, most)]
            if len(fit) > 1 and (measured or found < USERS):
                found += 1
                yield kind, template, f"{kind}-{user}", latest, fit[-2]
    if measured:
        return
    letters = [text for text in sample_documents() if text.voice == "email"]
    for target in letters[-LETTERS::2]:
        yield "letters", "message", "letters-otti", letters, target


def histories(path: Path) -> dict[str, list[Document]]:
    """Read the texts of each user, the oldest first; some have dates to come, which a history may not have."""
    found = defaultdict(list)
    with gzip.open(path) as file:
        for row in sorted(map(json.loads, file), key=lambda row: row["timestamp"]):
            found[row["user_id"]].append(Document(row["id"], row["text"], row["timestamp"], row["request"]))
    return found


def wordy(text: str | None, least: int, most: int) -> bool:
    return least <= len((text or "").split()) <= most


def fill(services: Services, case: Case) -> users.User:
    """Put the user's texts into the store, in a voice of the kind's name."""
    kind, template, name, texts, _ = case
    with services.database.write() as connection:
        user = users.ensure(connection, {name})[name]
        added = [documents.Addition(user.id, replace(text, voice=kind), mine=True, looked_at=True) for text in texts]
        documents.add(connection, added)
        voices.put(connection, user.id, kind, {"template": template})
    services.embed(user.id)
    return user


class Measured(drafter.Drafter):
    """Shows at most ``shown`` texts, and keeps the best four of the ranking, from which a draft may copy."""

    shown = 4
    best: tuple[str, ...] = ()

    def _shortlist(self, *arguments: Any) -> Any:
        shortlist = super()._shortlist(*arguments)
        self.best = tuple(scored.document.text for scored in shortlist.ranking[:4])
        return replace(shortlist, chosen=shortlist.chosen[: self.shown])


async def draft(services: Services, user: users.User, case: Case, arm: str) -> dict[str, Any]:
    kind, *_, target = case
    services.drafter.shown = int(arm[0])
    decoding = drafter.Decoding(max_tokens=LONGEST, stop=(CLOSING,))
    job = drafter.DraftJob(
        target.request or "", kind, revise="never", instead_of=target, edges=arm[1] == "e", decoding=decoding
    )
    async with aclosing(services.drafter.draft(user, job)) as events:
        (made,) = [event.draft async for event in events if isinstance(event, drafter.Finished)]
    edges = made.edges or Edges()
    known = [edge for edge in (edges.greeting, edges.opening, edges.sign_off, edges.name) if edge]
    always = [edge.text in made.text for edge in known if edge.share.value >= ALWAYS]
    return {
        "arm": arm,
        "text": made.text,
        **compared(made, case, services.drafter.best),
        "read": made.usage.prompt_tokens,
        "wrote": made.usage.completion_tokens,
        "edges": [sum(always), len(always)],
        "placeholders": len(PLACEHOLDER.findall(made.text)),
    }


def compared(made: Draft | Variant, case: Case, best: Sequence[str]) -> dict[str, Any]:
    """What a draft says of itself beside the text that the person wrote; it may copy from the ``best`` texts."""
    kind, _, user, _, target = case
    rouge = rouge_scorer.RougeScorer(["rouge1", "rougeL"]).score(target.text, made.text)
    found = [claim.kind for claim in made.claims]
    said = set(runs(target.request or ""))
    own = [run for run in runs(made.text) if run not in said]
    there = {run for text in best for run in runs(text)}
    return {
        "kind": kind,
        "user": user,
        "id": target.id,
        "rouge1": rouge["rouge1"].fmeasure,
        "rougeL": rouge["rougeL"].fmeasure,
        "likeness": made.likeness,
        "claims": {name: found.count(name) for name in set(found)},
        "copied": sum(run in there for run in own) / max(1, len(own)),
    }


def runs(text: str, length: int = RUN) -> list[tuple[str, ...]]:
    words = regex.findall(r"\w+", text.lower())
    return [tuple(words[start : start + length]) for start in range(len(words) - length + 1)]


async def run(data: Path, work: Path, model: str, measured: bool) -> list[dict[str, Any]]:
    kept, arms = (work / f"{model}-aeslc.jsonl", (BEFORE, SHIPS)) if measured else (work / f"{model}.jsonl", ARMS)
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    done = {(row["arm"], row["user"], row["id"]) for row in rows}
    services = Services(load_settings(home=work, llm=EMBEDDED, llm_model=model, likeness=True, first_word_s=0))
    services.database.migrate()
    services.drafter.__class__ = Measured
    for case in cases(data, measured):
        left = [arm for arm in arms if (arm, case[2], case[-1].id) not in done]
        if not left:
            continue
        user = fill(services, case)
        for arm in left:
            rows.append(await draft(services, user, case, arm))
            with kept.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    await services.stop()
    return rows


def table(rows: Sequence[dict[str, Any]], base: str) -> dict[str, Any]:
    """The means of each arm, and their paired differences from the ``base``, over users."""
    arms = [arm for arm in ARMS if any(row["arm"] == arm for row in rows)]
    by_case: dict[tuple[str, str], dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        by_case[row["user"], row["id"]][row["arm"]] = row
    whole = [found for _, found in sorted(by_case.items()) if len(found) == len(arms)]
    names = [found[base]["user"] for found in whole]
    bootstrap = Bootstrap(names)
    means = {
        arm: {name: bootstrap.mean([value(found[arm], name) for found in whole]) for name in (*VALUES, *CLAIMS)}
        for arm in arms
    }
    edges = [sum(counted) for counted in zip(*(found[SHIPS].get("edges", (0, 0)) for found in whole), strict=True)]
    return {
        "requests": len(whole),
        "users": len(set(names)),
        "arms": {arm: {name: mean.to_json() for name, mean in row.items()} for arm, row in means.items()},
        f"less_{base}": {
            arm: {name: (mean - means[base][name]).to_json() for name, mean in row.items()}
            for arm, row in means.items()
            if arm != base
        },
        "edges": {"kept": edges[0], "of": edges[1]},
        "placeholders": sum(found[SHIPS].get("placeholders", 0) for found in whole),
    }


def value(row: dict[str, Any], name: str) -> float:
    return float(row["claims"].get(name, 0) if name in CLAIMS else row[name] or 0.0)


def main() -> None:
    data, work, *names = sys.argv[1:]
    measured, model = MEASURED in names, next((name for name in names if name != MEASURED), MODEL)
    rows = asyncio.run(run(Path(data), Path(work), model, measured))
    found = json.loads(OUT.read_text()) if OUT.exists() else {}
    found["command"] = "python docs/experiments/shown.py DATA WORK MODEL"
    found[f"{model}, {MEASURED}" if measured else model] = table(rows, BEFORE if measured else "4e")
    write_json(str(OUT), found)


if __name__ == "__main__":
    main()
