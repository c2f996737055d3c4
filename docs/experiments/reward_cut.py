"""What a reward model says of less of a text: its first words alone, and what is left when sentences are deleted.

    python docs/experiments/reward_cut.py lamp_PRE_val.json.gz    writes docs/experiments/reward_cut.json

The preferred text of each pair, which a writer edited, is scored whole and cut. A cut text says less than the writer
meant, so a model that scores it higher likes brevity. Sentences are deleted at random, in several draws.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from pearl.editing.steps import SENTENCE_END
from pearl.options import write_json
from pearl.settings import EMBEDDED
from pearl.stats import Bootstrap
from retriever.reward.model import RewardModel
from retriever.reward.records import read_pairs

OUT = Path(__file__).with_suffix(".json")
WORDS = (3, 10, 20, 40, 80, 120)
KEPT = (0.25, 0.5, 0.75, 0.9)  # of a text's sentences
DRAWS = 10
Cut = Callable[[str, Random], str]


def first_words(text: str, dice: Random, number: int) -> str:
    return " ".join(text.split()[:number])


def fewer_sentences(text: str, dice: Random, share: float) -> str:
    sentences = SENTENCE_END.split(text)
    number = max(min(round(share * len(sentences)), len(sentences) - 1), 1)
    places = sorted(dice.sample(range(len(sentences)), number))
    return " ".join(sentences[place] for place in places)


def row(model: RewardModel, texts: list[str], cut: Cut, draws: int) -> dict[str, Any]:
    """The mean score of the cut texts, how much it is above that of the whole ones, and the share that score higher."""
    whole = np.repeat(model.score(texts), draws)
    names = np.repeat([str(place) for place in range(len(texts))], draws)
    dice = Random(0)
    scores = model.score([cut(text, dice) for text in texts for _ in range(draws)])
    bootstrap = Bootstrap(list(names))
    return {
        "score": bootstrap.mean(scores).to_json(),
        "more": bootstrap.mean(scores - whole).to_json(),
        "higher": bootstrap.mean(scores > whole).to_json(),
    }


def main() -> None:
    texts = list(dict.fromkeys(pair.better.strip() for pair in read_pairs(Path(sys.argv[1]))))
    model = RewardModel.load(EMBEDDED)
    rows = [
        *({"words": number, **row(model, texts, partial(first_words, number=number), 1)} for number in WORDS),
        *({"kept": share, **row(model, texts, partial(fewer_sentences, share=share), DRAWS)} for share in KEPT),
    ]
    whole = Bootstrap([str(place) for place in range(len(texts))]).mean(model.score(texts)).to_json()
    write_json(
        str(OUT), {"file": Path(sys.argv[1]).name, "texts": len(texts), "draws": DRAWS, "whole": whole, "rows": rows}
    )


if __name__ == "__main__":
    main()
