"""The page of a report, opened in a real headless browser."""

from __future__ import annotations

import json

import pytest

from eval.recorded.forensics.comparison import ColumnOptions, columns_of
from eval.recorded.forensics.examples import LONGEST, examples_of
from eval.recorded.forensics.votes import read_votes

HOSTILE = (
    "</script><script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\"> @DATA <b>x</b>"
)


@pytest.fixture
def hostile(pairs_file):
    """Pairs whose texts, names, models and topics are HTML with script."""
    path = pairs_file({"ann": "aabb" * 20, "is kind": "aab-" * 20, "is dry": "ba-b" * 20, "is odd": "abab" * 20})
    value = json.loads(path.read_text())
    for annotator in value["annotators"].values():
        if "dry" in annotator.get("description", ""):
            annotator["name"] = f"dry {HOSTILE}"
    for place, pair in enumerate(value["comparisons"]):
        pair["prompt"] = f"Question {place} {HOSTILE}"
        pair["response_a"] = {"text": f"A {place} {HOSTILE}", "model": HOSTILE if place % 4 else "plain"}
        pair["metadata"] = {"topic": "<i>even</i>" if place % 2 == 0 else "odd"}
    path.write_text(json.dumps(value))
    return path


LOOK = """
  const seen = (id) => document.getElementById(id).textContent;
  const choose = (id, value) => {
    document.getElementById(id).value = value;
    document.getElementById(id).dispatchEvent(new Event("change"));
    return seen("place");
  };
  const wide = document.documentElement.scrollWidth > window.innerWidth;
  const dry = [...document.querySelectorAll("td button")].find((button) =>
    button.closest("tr").cells[0].textContent.startsWith("dry"));
  const title = dry.closest("td").title;
  dry.click();
  const opened = { place: seen("place"), votes: seen("votes"), prompt: seen("prompt"), text: seen("text_a") };
  const agree = choose("kind", "agree"), odd = choose("topic", "topic: odd");
  choose("topic", "");
  const model = choose("model", "plain");
  choose("model", "");
  const none = choose("kind", "annotator chooses neither");
  const about = seen("votes");
  document.getElementById("next").click();
  tell({ wide, title, opened, agree, odd, model, none, about, next: seen("place"),
         address: location.hash, page: document.title,
         images: document.images.length, bold: document.querySelectorAll("b, i").length,
         grey: document.querySelectorAll("td.grey").length,
         heat: document.querySelectorAll(".heat td[style]").length });
"""


def test_the_page_shows_the_pairs_behind_a_number(run_pearl, chromium, hostile, tmp_path):
    out = tmp_path / "report.html"
    words = ("forensics", "report", "--pairs", hostile, "--reference", "ann", "--html", out, "--examples", 80)
    run = run_pearl(*words, "--json", "-")
    assert (run.status, run.err) == (0, "")
    dry = next(row for row in run.json["annotators"] if row["name"].startswith("dry"))["columns"][0]
    seen = chromium(out, LOOK, "--window-size=390,800")
    # every number of the cell is that of the result, and the viewer has so many pairs
    counts = f"agree {dry['agreed']}, disagree {dry['disagreed']}, neither {dry['not_applicable']}"
    assert seen["title"].startswith(counts)
    assert seen["opened"]["place"] == "1 of 80 pairs"
    assert seen["agree"] == f"1 of {dry['agreed']} pairs"
    assert seen["odd"] == f"1 of {dry['agreed']} pairs"  # text b was chosen by both only there
    assert seen["none"] == f"1 of {dry['not_applicable']} pairs"
    assert seen["next"] == f"2 of {dry['not_applicable']} pairs"
    assert seen["address"].endswith(".3.0.0.1")  # the fourth kind, every model and topic, the second pair
    assert seen["about"].endswith("chooses not applicable.")
    assert (seen["opened"]["prompt"], seen["opened"]["text"]) == (f"Question 0 {HOSTILE}", f"A 0 {HOSTILE}")
    # HTML in texts and names is text, and nothing is wider than a phone
    assert (seen["page"], seen["images"], seen["bold"], seen["wide"]) == ("Feedback forensics", 0, 0, False)
    assert seen["grey"] > 0
    assert seen["heat"] == 6
    assert "default-src 'none'" in out.read_text(encoding="utf-8")  # nothing is loaded from anywhere


def test_examples_are_of_every_kind_and_no_more_than_asked_for(hostile):
    columns = columns_of([(str(hostile), read_votes(hostile))], ColumnOptions(reference=["ann"]), least=1)
    ids = [annotator.id for annotator in columns[0].table.annotators if annotator.kind == "principle"]
    few = examples_of(columns, ids, 8)
    assert (len(few.shown), few.pairs) == (8, 80)
    kinds = {(pair["references"], pair["votes"][0]) for pair in examples_of(columns, ids, 80).shown}
    assert kinds == {("a", "a"), ("b", "b"), ("b", "-")}


def test_a_number_beside_an_arabic_name_stays_on_its_side(run_pearl, pairs_file, tmp_path):
    path, out = pairs_file({"سامي": "aabb" * 5, "is kind": "aab-" * 5}), tmp_path / "report.html"
    words = ("forensics", "report", "--pairs", path, "--reference", "سامي", "--html", out)
    assert run_pearl(*words).status == 0
    assert "<bdi>سامي</bdi> (20 of 20 pairs)" in out.read_text(encoding="utf-8")


def test_a_long_text_is_cut_between_characters(pairs_file):
    path = pairs_file({"ann": "ab", "is kind": "ab"})
    value = json.loads(path.read_text())
    value["comparisons"][0]["prompt"] = "x" + "नी" * LONGEST
    path.write_text(json.dumps(value))
    columns = columns_of([(str(path), read_votes(path))], ColumnOptions(reference=["ann"]), least=1)
    ids = [annotator.id for annotator in columns[0].table.annotators]
    cut = next(pair["prompt"] for pair in examples_of(columns, ids, 2).shown if pair["prompt"].startswith("x"))
    assert cut == "x" + "नी" * (LONGEST // 2 - 1) + " […]"
