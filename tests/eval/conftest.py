"""What tests of eval share: the command line, the metric that needs a model, judgements, annotated pairs, a browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eval.recorded.forensics.pairs import annotation_of, short_id, spelled_vote, trait_annotator
from retriever.models.bertscore import BertScore


@pytest.fixture
def pearl_eval(run_pearl: Callable[..., Any]) -> Callable[..., Any]:
    """`pearl eval` with these words."""
    return partial(run_pearl, "eval")


@pytest.fixture(scope="session")
def bertscore() -> BertScore:
    """With the real embedded encoder, loaded once."""
    return BertScore()


PEOPLE = ("a baker in Porto", "a sailor from Bergen", "a teacher near Graz", "a nurse of Leeds", "a smith at Vaduz")


@pytest.fixture
def judged() -> Callable[..., list[dict[str, Any]]]:
    """Recorded judgements about made-up people: sound ones, half right, the surer the righter."""

    def make(count: int = 40, **fields: Any) -> list[dict[str, Any]]:
        return [_judged(place) | fields for place in range(count)]

    return make


def _judged(place: int) -> dict[str, Any]:
    gold = "AB"[place // 2 % 2]
    right = place % 4 in (0, 3)
    answer = gold if right else "BA"["BA".index(gold) - 1]
    certainty = (90 if right else 50) + place % 7 - 3
    texts = [f"Text number {2 * place} of somebody.", f"Text number {2 * place + 1} of someone else."]
    persona = f"The person is {PEOPLE[place % len(PEOPLE)]}."
    return {
        "prompt": f"Who wrote it? Say [[A]] or [[B]], and your certainty from 1 to 100.\n[User Profile]\n{persona}\n"
        f"[Response A]\n{texts[0]}\n[Response B]\n{texts[1]}\n[Answer]\n[[",
        "answer": answer,
        "certainty": str(certainty),
        "acc": right,
        "ground_truth": gold,
        "user_info": persona,
        "asst_A": texts[0],
        "asst_B": texts[1],
        "res": f"{answer}]] [[{certainty}]]",
    }


WORDS = {"a": "a", "b": "b", "&": "both", "0": "neither", "-": "not_applicable", "!": "invalid"}


@pytest.fixture
def pairs_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a file of pairs: votes are strings with a character a pair (a, b, & both, 0 neither, - not applicable,
    ! invalid, a blank for no vote), by name; a name that begins with 'is' or 'uses' is a trait."""

    def write(votes: dict[str, str], name: str = "pairs.json", **fields: Any) -> Path:
        annotators, ids = {}, {}
        for annotator in votes:
            if annotator.startswith(("is ", "uses ")):
                made = trait_annotator(f"Select the response that {annotator}")
                ids[annotator], annotators[made.id] = made.id, dict(made.fields)
            else:
                ids[annotator] = short_id(annotator)
                annotators[ids[annotator]] = {"name": annotator, "type": "human"}
        length = len(next(iter(votes.values())))
        pairs = [
            {
                "id": f"{place:08x}",
                "prompt": f"Question {place}?",
                "response_a": {"text": "A" * (place + 1), "model": "first"},
                "response_b": {"text": "B" * (place + 2), "model": "second"},
                "annotations": {
                    ids[annotator]: annotation_of(spelled_vote(WORDS[given[place]], ""))
                    for annotator, given in votes.items()
                    if given[place] != " "
                },
                "metadata": {"topic": "even" if place % 2 == 0 else "odd"},
            }
            for place in range(length)
        ]
        metadata = {"version": "2.0", "available_metadata_keys_per_comparison": ["topic"]}
        path = tmp_path / name
        value = {"metadata": metadata, "annotators": annotators, "comparisons": pairs, **fields}
        path.write_text(json.dumps(value), encoding="utf-8")
        return path

    return write


def user_text(body: dict[str, Any]) -> str:
    return body["messages"][-1]["content"]


TELL = """
const tell = (outcome) => {
  const element = document.createElement("pre");
  element.id = "outcome";
  element.textContent = JSON.stringify([outcome, { ...localStorage }]);
  document.body.append(element);
};
"""


@pytest.fixture
def chromium(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Open a page in headless Chromium, run a script in it, and return what it tells with ``tell(...)``; what the
    page keeps stays from one call to the next (a browser that ends at once may lose it)."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("there is no Chromium to open the page with")

    kept: dict[str, str] = {}

    def run(page: Path, script: str, *flags: str) -> dict[str, Any]:
        driven = tmp_path / "driven.html"  # the same file each time: what a browser keeps is a page's own
        before = json.dumps(kept).replace("<", "\\u003c")
        driver = f"<script>{TELL}\nObject.assign(localStorage, {before});\n(() => {{ {script} }})();</script></body>"
        driven.write_text(page.read_text(encoding="utf-8").replace("</body>", driver), encoding="utf-8")
        words = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--dump-dom",
        ]
        words += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=4000", *flags, driven.as_uri()]
        done = subprocess.run([browser, *words], capture_output=True, text=True, timeout=120, check=False)
        found = re.search(r'<pre id="outcome">(.*?)</pre>', done.stdout, re.DOTALL)
        assert found, done.stderr[-2000:] + done.stdout[-500:]
        told, now = json.loads(html.unescape(found[1]))
        kept.update(now)
        return told

    return run
