"""Count how the published keywords of stances and our rules differ: ``python docs/experiments/stances.py``.

Takes the histories of the shared data (PEARL_SHARED, or ../shared). Nobody in them is asked for a verdict, so nearly
every stance found there is found by mistake. Counts go to ``stances.json``, and no text does.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

from eval.drafts.stance import AS_PUBLISHED, NTA_KEYWORDS, YTA_KEYWORDS, stance
from pearl.history import read_json_lines

HERE = Path(__file__).parent
CORPORA = ("chat/lean", "mail/everything", "commits/git", "commits/coreboot")


def main() -> None:
    shared = Path(os.environ.get("PEARL_SHARED", HERE.parent.parent.parent / "shared"))
    counts = {name: counts_of(shared / "data" / f"{name}.jsonl.gz") for name in CORPORA}
    (HERE / "stances.json").write_text(json.dumps(counts, indent=2) + "\n")


def counts_of(path: Path) -> dict[str, int | dict[str, int]]:
    """The texts, those with a stance by either rule, where both agree, and the keywords that were found."""
    texts = [str(line.value["text"]) for line in read_json_lines(path)]
    pairs = [(stance(text, AS_PUBLISHED), stance(text)) for text in texts]
    found = Counter(word for text in texts for word in (*NTA_KEYWORDS, *YTA_KEYWORDS) if word in text.lower())
    return {
        "texts": len(texts),
        "by_keywords": sum(published is not None for published, _ in pairs),
        "by_rules": sum(ours is not None for _, ours in pairs),
        "the_same": sum(published == ours is not None for published, ours in pairs),
        "keywords": dict(found.most_common()),
    }


if __name__ == "__main__":
    main()
