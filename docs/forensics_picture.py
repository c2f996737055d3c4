"""docs/assets/forensics.png: a report on invented votes, as a browser shows it. Run by hand; it needs Chromium."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "assets" / "forensics.png"
SIZE = (940, 760)
# agreement with the people beyond chance, and relevance
TRAITS = {
    "is more concise": (-0.35, 0.6),
    "is more polite": (0.2, 0.45),
    "uses more bold and italics text": (0.3, 0.4),
    "ends with a follow-up question": (-0.3, 0.25),
    "has more structured formatting": (0.45, 0.7),
    "uses more emojis": (-0.25, 0.12),
    "makes more confident statements": (0.25, 0.5),
    "provides more examples": (0.3, 0.45),
    "uses more casual language": (0.02, 0.25),
    "is more verbose": (0.3, 0.9),
    "uses more humour": (0.05, 0.1),
    "refuses to answer the question": (-0.6, 0.07),
}


def main() -> None:
    sys.path.insert(0, str(ROOT))
    from eval.recorded.forensics.pair_files import write_pairs
    from pearl.cli.main import main as pearl

    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with TemporaryDirectory(prefix="pearl-") as folder:
        page, shot = Path(folder) / "report.html", Path(folder) / "shot.png"
        write_pairs(Path(folder) / "votes.json", invented())
        sys.argv = ["pearl", "forensics", "report", "--pairs", f"{folder}/votes.json", "--html", str(page)]
        sys.argv += ["--reference", "readers", "--reference", "editors"]
        with suppress(SystemExit):
            pearl()
        page.write_text(page.read_text(encoding="utf-8").replace(f"{folder}/", ""), encoding="utf-8")
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
        ]
        flags += [f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={shot}", page.as_uri()]
        subprocess.run([browser, *flags], check=True, capture_output=True, timeout=120)
        Image.open(shot).convert("RGB").quantize(64).save(PICTURE, optimize=True)


def invented():  # type: ignore[no-untyped-def]
    """1,500 pairs on which readers, editors and twelve traits vote at random, with the agreement of TRAITS."""
    from eval.recorded.forensics.pairs import AnnotatedPairs, Annotator, Pair, Vote, short_id, trait_annotator

    chance = random.Random(7)
    people = {name: Annotator(short_id(name), {"name": name, "type": "human"}) for name in ("readers", "editors")}
    traits = {name: trait_annotator(f"Select the response that {name}") for name in TRAITS}
    pairs = []
    for number in range(1500):
        reader = chance.choice((Vote.A, Vote.B))
        editor = reader if chance.random() < 0.7 else chance.choice((Vote.A, Vote.B, Vote.BOTH))
        votes = {people["readers"].id: reader, people["editors"].id: editor}
        for name, (kappa, relevance) in TRAITS.items():
            agrees = chance.random() < (1 + kappa) / 2
            vote = reader if agrees else Vote.B if reader is Vote.A else Vote.A
            votes[traits[name].id] = vote if chance.random() < relevance else Vote.NOT_APPLICABLE
        texts = {f"response_{side}": {"text": f"Answer {side} to question {number}."} for side in "ab"}
        pairs.append(Pair({"id": f"{number:08x}", "prompt": f"Question {number}?", **texts}).with_votes(votes))
    annotators = {each.id: each for each in (*people.values(), *traits.values())}
    return AnnotatedPairs(annotators, tuple(pairs))


if __name__ == "__main__":
    main()
