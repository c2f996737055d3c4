"""On which kinds of pairs does a reward model generalise, and does learning from pairs of one length help?

    python docs/experiments/reward_kinds.py DATA WORK          writes docs/experiments/reward_kinds.json
    python docs/experiments/reward_kinds.py DATA WORK FIGURES  measures the shipped model alone, into FIGURES

Pairs of a writer's edit and the draft it began from are what a model learns from; these are on paragraphs that no
training saw. The other kinds are made here. Two paragraphs that began from different drafts, both edited by writers or
neither, whose scores by writers lie 1.5 points apart. A writer's edit and a model's edit of another draft, which nobody
compared: the writer's counts as the better one. A model's draft and its edit by a model, and two edits by models, as
most experts decided. What a person wrote and what the embedded model wrote in its place. Texts of different paragraphs
are paired, or cut, so that they are about equally long. ``WORK`` gets a file of pairs for each kind, as ``pearl train
reward --other-kind`` and ``pearl eval quality`` read them, the trained models and the embedded model's replies.

The rule, written before anything was trained: a model replaces the shipped one if it may ship by
``training/reward/other_kinds.py`` on each of the other kinds, if the mean of its accuracies on them is higher in nine
of ten resamples of texts, and if in five folds of LAMP's training paragraphs the mean of its accuracies where the
better text is the longer one and where it is the shorter is not lower by more than .01.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from reward_drafted import CONTEXT, LAMP, MOST_WORDS, SENTENCE_END, VALIDATION, Asked, of_history, pairs
from rich.console import Console

from eval.recorded.quality.benchmark import PairSet, original_names, quality_report
from eval.recorded.quality.compose import compose, read_responses
from eval.recorded.quality.experts import VERSIONS, read_triplets
from eval.recorded.quality.scorers import SCORERS, PairScorer, reward_pair_scorer, surface_scorer
from pearl.asking.kept import open_replies
from pearl.chat.base import Message
from pearl.chat.gguf_chat import GgufChatModel
from pearl.history import read_histories
from pearl.options import write_json
from pearl.settings import EMBEDDED
from pearl.stats import Bootstrap
from pearl.weights.smollm2 import embedded_model_file
from retriever.reward.artifact import reward_folder
from retriever.reward.model import RewardModel
from retriever.reward.originals import preferred_versions, underlying
from retriever.reward.records import QualityPair, ScoredParagraph, read_pairs, read_quality
from training.reward.options import RewardOptions
from training.reward.recipe import train_reward

OUT = Path(__file__).with_suffix(".json")
TRIPLETS = "writing-quality/WQRM_annotations.json.gz"
POSTS, MAIL = 60, 40
PROSE_WORDS = 60  # of a post's paragraph, at least
APART = 1.5  # points
EDITS = "edits"
KINDS = {
    EDITS: "a writer's edit, the draft it began from",
    "apart": "two edits, or two drafts, scored 1.5 points apart",
    "edit-model": "a writer's edit, a model's edit of another draft",
    "draft-model": "a model's draft, a model's edit of it",
    "models": "two edits by models",
    "person-model": "a person's text, the embedded model's",
}
FOLDS = 5
TRIVIAL = SCORERS[:3]  # shorter, longer, first
FOREIGN = "drafts of others"
TRIES: dict[str, dict[str, Any]] = {  # the choices of a training
    "as shipped": {},
    "whole and cut": {"lengths": "both"},
    "cut": {"lengths": "cut"},
    f"cut, {FOREIGN}": {"lengths": "cut"},
}
CONSOLE = Console(stderr=True)
Preferred = tuple[str, str]  # the better text and the worse one


def of_lamp(file: Path) -> tuple[list[Preferred], dict[str, float]]:
    """The versions of each paragraph, and the scores of all of them."""
    records = read_quality(file)
    scores = {record.text: record.score for record in records if isinstance(record, ScoredParagraph)}
    return preferred_versions(records), scores


def nearest(texts: Sequence[str], others: Sequence[str], fits: Callable[[str, str], bool]) -> Iterator[Preferred]:
    """Each text with the one of the others that fits, is about equally long and in no pair yet."""
    left = sorted(others, key=len)
    used: set[str] = set()
    for text in sorted(texts, key=len):
        found = [
            other
            for other in left
            if not {text, other} & used and fits(text, other) and QualityPair(0, text, other, 1).equally_long
        ]
        if found:
            other = min(found, key=lambda other: abs(len(other) - len(text)))
            used |= {text, other}
            yield text, other


def apart(versions: Sequence[Preferred], scores: dict[str, float]) -> Iterator[Preferred]:
    """Two edits or two drafts of different paragraphs with different scores."""
    for texts in zip(*versions, strict=True):
        known = [text for text in dict.fromkeys(texts) if text in scores]
        found = nearest(known, known, lambda one, other: abs(scores[one] - scores[other]) >= APART)
        yield from ((one, other) if scores[one] > scores[other] else (other, one) for one, other in found)


def of_triplets(file: Path) -> dict[str, list[Preferred]]:
    """Experts' majorities, by whether the draft is one of the two."""
    decided, _ = compose(read_responses(file), "one", 0, None)
    drafts = {triplet.texts[next(iter(VERSIONS))] for triplet in read_triplets(file)}
    kinds: dict[str, list[Preferred]] = {"draft-model": [], "models": []}
    for pair in decided:
        one, other = pair["paragraph1"], pair["paragraph2"]
        kind = "draft-model" if drafts & {one, other} else "models"
        kinds[kind].append((one, other) if pair["reference_preference"] == "1" else (other, one))
    return kinds


def of_posts(file: Path) -> Iterator[Asked]:
    """To go on from the first sentence of the first paragraph of prose in each post."""
    posts = [document for documents in read_histories(file).values() for document in documents]
    for post in Random(0).sample(posts, len(posts)):
        whole = (" ".join(part.split()) for part in post.text.split("\n\n"))
        prose = (text for text in whole if PROSE_WORDS <= len(text.split()) <= MOST_WORDS and text[0].isalpha())
        if text := next((text for text in prose if not set("*[]|`#") & set(text)), None):
            first = SENTENCE_END.split(text)[0]
            question = f"Write one paragraph of about {len(text.split())} words. It begins with this sentence: {first}"
            yield Asked(file.name, text, (Message("user", question),))


def drafted(data: Path, work: Path) -> list[Preferred]:
    model = GgufChatModel(embedded_model_file(), context_tokens=CONTEXT)
    questions = [
        *islice(of_posts(data / "posts/18f.jsonl.gz"), POSTS),
        *of_history(data / "mail/everything.jsonl.gz", "message", MAIL, model),
    ]
    with open_replies(work / "replies.sqlite") as kept:
        return [(pair["paragraph1"], pair["paragraph2"]) for pair in pairs(questions, model, kept)]


def make_kinds(data: Path, work: Path) -> dict[str, Path]:
    """The file of pairs of each kind; the better text is first and second in turn."""
    versions, scores = of_lamp(data / VALIDATION)
    models = [text for triplet in read_triplets(data / TRIPLETS) for text in list(triplet.texts.values())[1:]]
    edits = [better for better, _ in versions]
    kinds = {
        EDITS: versions,
        "apart": list(apart(versions, scores)),
        "edit-model": list(nearest(edits, models, lambda one, other: True)),
        **of_triplets(data / TRIPLETS),
        "person-model": drafted(data, work),
    }
    files = {}
    for kind, preferred in kinds.items():
        files[kind] = work / f"{kind}.json"
        write_json(str(files[kind]), [row(better, worse, place % 2) for place, (better, worse) in enumerate(preferred)])
    return files


def row(better: str, worse: str, swapped: int) -> dict[str, str]:
    first, second = (worse, better) if swapped else (better, worse)
    return {"paragraph1": first, "paragraph2": second, "reference_preference": "2" if swapped else "1"}


def figures(found: Sequence[QualityPair], scorer: PairScorer, others: Sequence[PairScorer]) -> dict[str, Any]:
    """Accuracies over all pairs, those of equal length, by which text is longer, and with length regressed out."""
    result = quality_report([PairSet(Path(), tuple(found), ())], scorer, TRIVIAL, others)
    return {
        "pairs": result["n"],
        "texts": result["originals"],
        "all": {scorer.name: result["intervals"]["accuracy"], **result["intervals"]["baselines"]},
        "better_is": result["better_is"],
        "equal_length": {name: result["equal_length"][name] for name in ("n", "accuracy")},
        "length_regressed": result["length_regressed"]["accuracy"],
        "less_the_best": result["difference"],
    }


def learned_from(records: Sequence[ScoredParagraph], work: Path, name: str, foreign: bool) -> tuple[Path, ...]:
    """Files of scored paragraphs, and of each writer's edit with a draft of another paragraph, about equally long."""
    files = [work / f"{name}-scored.json"]
    write_json(str(files[0]), [{"paragraph": record.text, "score": record.score} for record in records])
    if foreign:
        edits, drafts = (dict.fromkeys(texts) for texts in zip(*preferred_versions(records), strict=True))
        alone = [[text for text in some if text not in others] for some, others in ((edits, drafts), (drafts, edits))]
        texts = [*alone[0], *alone[1]]
        group_of = dict(zip(texts, underlying(texts), strict=True))
        found = nearest(*alone, lambda edit, draft: group_of[edit] != group_of[draft])
        files.append(work / f"{name}-foreign.json")
        write_json(str(files[1]), [row(edit, draft, place % 2) for place, (edit, draft) in enumerate(found)])
    return tuple(files)


def trained(name: str, work: Path, records: Sequence[ScoredParagraph], part: str, files: dict[str, Path]) -> Path:
    """The folder of a model that learned from these records; ``part``: which they are."""
    out = work / f"{part}-{name.replace(' ', '-').replace(',', '')}"
    if not (out / "artifact.json").exists():
        choices = TRIES[name]
        data = learned_from(records, work, part, FOREIGN in name)
        others = tuple(file for kind, file in files.items() if kind != EDITS)
        options = RewardOptions(data=data, out=out, work=work / "training", variant="PR", **choices)
        train_reward(replace(options, test=(files[EDITS],), other_kind=others), CONSOLE)
    return out


def in_folds(name: str, work: Path, records: Sequence[ScoredParagraph], files: dict[str, Path]) -> dict[str, Any]:
    """The figures on LAMP's pairs, each decided by a model that saw neither text."""
    versions = preferred_versions(records)
    found = [
        QualityPair(place, *(pair[::-1] if place % 2 else pair), 1 + place % 2) for place, pair in enumerate(versions)
    ]
    texts = [record.text for record in records]
    group_of = dict(zip(texts, underlying(texts), strict=True))
    groups = sorted(set(group_of.values()))
    fold_of = {group: place % FOLDS for place, group in enumerate(Random(0).sample(groups, len(groups)))}
    margins, may_ship = np.zeros(len(found)), 0
    for fold in range(FOLDS):
        inside = [record for record in records if fold_of[group_of[record.text]] != fold]
        model = RewardModel.load(trained(name, work, inside, f"fold-{fold}", files))
        may_ship += model.artifact.may_ship
        places = [place for place, pair in enumerate(found) if fold_of[group_of[pair.better]] == fold]
        margins[places] = model.prefer(
            *zip(*((found[place].first, found[place].second) for place in places), strict=True)
        )
    result = figures(found, PairScorer(name, "", lambda pairs: margins), ())
    longer, shorter = (result["better_is"][which]["accuracy"][name]["value"] for which in ("longer", "shorter"))
    return {"model": name, "may_ship": may_ship, "balanced": (longer + shorter) / 2, **result}


def higher(models: dict[str, RewardModel], name: str, files: dict[str, Path]) -> dict[str, float]:
    """The mean over the other kinds of what the model's accuracy has more than the shipped one's, and the share of
    resamples of texts in which that is above 0."""
    values, resampled = [], []
    for number, (kind, file) in enumerate(files.items()):
        if kind == EDITS:
            continue
        found = read_pairs(file)
        texts = [pair.better for pair in found], [pair.worse for pair in found]
        right = [np.sign(model.prefer(*texts)) / 2 for model in (models[name], models[EMBEDDED])]
        estimate = Bootstrap(original_names(found), seed=number).mean(right[0] - right[1])
        values.append(estimate.value)
        resampled.append(estimate.resampled)
    return {"more": float(np.mean(values)), "higher_in": float((np.mean(resampled, axis=0) > 0).mean())}


def main() -> None:
    data, work = Path(sys.argv[1]), Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    files = make_kinds(data, work)
    records = [record for record in read_quality(data / LAMP) if isinstance(record, ScoredParagraph)]
    records = [record for record in records if not record.off_scale]
    tries = TRIES if len(sys.argv) == 3 else {}
    folders = {EMBEDDED: reward_folder(EMBEDDED)} | {name: trained(name, work, records, "all", files) for name in tries}
    models = {name: RewardModel.load(folder) for name, folder in folders.items()}
    surface = surface_scorer([data / LAMP])
    assert surface is not None
    scorers = [*(reward_pair_scorer(name, model) for name, model in models.items()), surface]
    result: dict[str, Any] = {
        "command": "python docs/experiments/reward_kinds.py DATA WORK",
        "kinds": [
            {"kind": KINDS[kind], "learned_from": kind == EDITS, **figures(read_pairs(file), scorers[0], scorers[1:])}
            for kind, file in files.items()
        ],
        "tries": [
            {"model": name, "may_ship": models[name].artifact.may_ship, **higher(models, name, files)} for name in tries
        ],
        "folds": [in_folds(name, work, records, files) for name in tries],
    }
    write_json(sys.argv[3] if len(sys.argv) > 3 else str(OUT), result)


if __name__ == "__main__":
    main()
