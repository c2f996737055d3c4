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
from pearl.chat.embedded import EmbeddedChatModel
from pearl.history import read_histories
from pearl.options import write_json
from pearl.settings import EMBEDDED
from pearl.stats import Bootstrap, Floats
from retriever.reward.artifact import read_reward, reward_folder
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
EDITS = "a writer's edit, the draft it began from"
FOLDS = 5
TRIVIAL = SCORERS[:3]  # shorter, longer, first
TRIES: dict[str, dict[str, Any]] = {
    "today": {},
    "whole and cut": {"lengths": "both"},
    "cut": {"lengths": "cut"},
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
    kinds: dict[str, list[Preferred]] = {"a model's draft, its edit by a model": [], "two edits by models": []}
    for pair in decided:
        one, other = pair["paragraph1"], pair["paragraph2"]
        kind = list(kinds)[0 if drafts & {one, other} else 1]
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
    model = EmbeddedChatModel(context_tokens=CONTEXT)
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
        "two edits, or drafts, scored 1.5 points apart": list(apart(versions, scores)),
        "a writer's edit, a model's edit of another draft": list(nearest(edits, models, lambda one, other: True)),
        **of_triplets(data / TRIPLETS),
        "a person's text, the embedded model's": drafted(data, work),
    }
    files = {}
    for number, (kind, preferred) in enumerate(kinds.items()):
        files[kind] = work / f"kind-{number}.json"
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


def trained(data: Path, work: Path, name: str, choices: dict[str, Any], files: dict[str, Path]) -> Path:
    """The folder of a model that learned from all of LAMP's training paragraphs."""
    out = work / f"model-{name.replace(' ', '-')}"
    if not (out / "artifact.json").exists():
        others = tuple(file for kind, file in files.items() if kind != EDITS)
        options = RewardOptions(data=(data / LAMP,), out=out, work=work / "training", variant="PR", **choices)
        train_reward(replace(options, test=(files[EDITS],), other_kind=others), CONSOLE)
    return out


def in_folds(data: Path, work: Path, name: str, choices: dict[str, Any]) -> Floats:
    """(P,): the margin of the better text of each of LAMP's pairs, by a model that saw neither."""
    records = [
        record for record in read_quality(data / LAMP) if isinstance(record, ScoredParagraph) and not record.off_scale
    ]
    versions = preferred_versions(records)
    texts = [*(record.text for record in records), *(text for pair in versions for text in pair)]
    group_of = dict(zip(texts, underlying(texts), strict=True))
    groups = sorted(set(group_of.values()))
    fold_of = {group: place % FOLDS for place, group in enumerate(Random(0).sample(groups, len(groups)))}
    margins = np.zeros(len(versions))
    for fold in range(FOLDS):
        inside = [record for record in records if fold_of[group_of[record.text]] != fold]
        file, out = work / f"fold-{fold}.json", work / f"fold-{fold}-{name.replace(' ', '-')}"
        write_json(str(file), [{"paragraph": record.text, "score": record.score} for record in inside])
        if not (out / "artifact.json").exists():
            options = RewardOptions(data=(file,), out=out, work=work / "training", variant="PR", **choices)
            train_reward(options, CONSOLE)
        places = [place for place, (better, _) in enumerate(versions) if fold_of[group_of[better]] == fold]
        better, worse = zip(*(versions[place] for place in places), strict=True)
        margins[places] = RewardModel.load(out).prefer(better, worse)
    return margins


def lamp_pairs(data: Path) -> list[QualityPair]:
    records = [
        record for record in read_quality(data / LAMP) if isinstance(record, ScoredParagraph) and not record.off_scale
    ]
    return [QualityPair(place, *pair, 1) for place, pair in enumerate(preferred_versions(records))]


def balanced(margins: Floats, found: Sequence[QualityPair]) -> float:
    longer_by = np.array([len(pair.better.strip()) - len(pair.worse.strip()) for pair in found])
    right = margins > 0
    return float((right[longer_by > 0].mean() + right[longer_by < 0].mean()) / 2)


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
    surface = surface_scorer([data / LAMP])
    assert surface is not None
    names = {EMBEDDED: reward_folder(EMBEDDED)}
    if len(sys.argv) == 3:
        names |= {name: trained(data, work, name, choices, files) for name, choices in TRIES.items()}
    models = {name: RewardModel.load(folder) for name, folder in names.items()}
    scorers = [*(reward_pair_scorer(name, model) for name, model in models.items()), surface]
    kinds = [
        {"kind": kind, "learned_from": kind == EDITS, **figures(read_pairs(file), scorers[0], scorers[1:])}
        for kind, file in files.items()
    ]
    result: dict[str, Any] = {"command": "python docs/experiments/reward_kinds.py DATA WORK", "kinds": kinds}
    if len(sys.argv) == 3:
        found = lamp_pairs(data)
        margins = {name: in_folds(data, work, name, choices) for name, choices in TRIES.items()}
        result["folds"] = {name: balanced(margin, found) for name, margin in margins.items()}
        result["tries"] = [
            {"model": name, "may_ship": read_reward(names[name]).may_ship, **higher(models, name, files)}
            for name in TRIES
        ]
    write_json(sys.argv[3] if len(sys.argv) > 3 else str(OUT), result)


if __name__ == "__main__":
    main()
