"""``pearl ratings page``, used in a real headless browser, and what reads the ratings that it saves."""

from __future__ import annotations

import json
import re

import pytest

HOSTILE = (
    "</script><script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\"> & <b>bold</b>"
)
DRAFTS = [
    {
        "id": f"i{n}",
        "reference": f"What the author wrote, {n}. {HOSTILE}",
        "candidates": {"ours": f"Ours {n}. {HOSTILE}", "bm25": f"Theirs {n}."},
    }
    for n in range(12)
]
PEOPLE = [
    {
        "id": f"p{n}",
        "persona": {"home": "a town"},
        "responses": {"A": f"Hills {n}.", "B": f"Sea {n}."},
        "preferred": "A",
    }
    for n in range(3)
]
PAIRS = [
    {
        "id": "1",
        "style": ["storytelling", "poetic and lyrical"],
        "request": "Why?",
        "text_a": "Once.",
        "text_b": "Because.",
    }
]
TEXTS = [{"id": "1", "task": "email", "request": "Why?", "style": "storytelling", "text": "Once upon a time."}]


@pytest.fixture
def make_page(run_pearl, write_lines, tmp_path):
    def make(lines, *more):
        out = tmp_path / "page.html"
        run = run_pearl(
            "ratings", "page", "--items", write_lines(lines, "items.jsonl"), "--out", out, "--json", "-", *more
        )
        assert (run.status, run.err) == (0, "")
        return out, run.json

    return make


@pytest.fixture
def browse(chromium):
    """Open a page in headless Chromium with :data:`DRIVER`, run a script in it, and return what the script tells."""
    return lambda page, script: chromium(page, f"{DRIVER}\n{script}")


# what a person does: a name, keys, and the file that is saved
DRIVER = """
let saved = "";
window.Blob = class { constructor(parts) { saved = parts.join(""); } };  // to read a real one takes its time
URL.createObjectURL = () => "#";
const press = (key, target) =>
  (target || document.body).dispatchEvent(new KeyboardEvent("keydown", { key: key, bubbles: true, cancelable: true }));
const begin = (name) => {
  document.getElementById("name").value = name;
  document.getElementById("start").dispatchEvent(new Event("submit", { cancelable: true }));
};
const seen = (id) => document.getElementById(id).textContent;
const sure = (value) => {
  document.getElementById("sure").value = value;
  press("Enter", document.getElementById("sure"));
};
"""


def test_a_person_rates_stops_goes_on_and_saves(browse, make_page, run_pearl, write_lines, tmp_path):
    page, counts = make_page(DRAFTS)
    assert (counts["items"], counts["labels"]) == (12, ["proposed", "tie", "baseline"])
    # says of each pair that Ours is the author's, wherever it stands; stops after five
    rate = """
      const ours = () => document.querySelector("#texts pre").textContent.startsWith("Ours") ? "1" : "3";
      begin("Ann Ø");
      const shown = [], first = seen("place");
      for (let n = 0; n < COUNT; n += 1) { shown.push(ours()); press(ours()); }
      press("s");
      tell({ first, place: seen("place"), shown, saved, done: seen("done"), title: document.title,
             images: document.images.length, bold: document.querySelectorAll("b").length,
             reference: document.querySelector("#parts pre").textContent });
    """
    part = browse(page, rate.replace("COUNT", "5"))
    assert (part["first"], part["place"]) == ("Item 1 of 12, 0 rated", "Item 6 of 12, 5 rated")
    assert set(part["shown"]) == {"1", "3"}  # the texts change places
    assert (part["title"], part["images"], part["bold"]) == ("Ratings", 0, 0)
    assert str(part["reference"]).endswith(HOSTILE)
    assert len(str(part["saved"]).splitlines()) == 5

    rest = browse(page, rate.replace("COUNT", "7"))
    assert rest["first"] == "Item 6 of 12, 5 rated"
    lines = [json.loads(line) for line in str(rest["saved"]).splitlines()]
    assert sorted(line["item"] for line in lines) == sorted(line["id"] for line in DRAFTS)
    assert {(line["rater"], line["label"]) for line in lines} == {("Ann Ø", "proposed")}
    assert {line["swapped"] for line in lines} == {True, False}

    # a second rater in the same browser begins anew, goes back and changes an answer
    other = browse(page, 'begin("Ben"); press("2"); press("ArrowLeft"); press("1"); press("s"); tell({saved});')
    (ben,) = map(json.loads, str(other["saved"]).splitlines())
    assert (ben["rater"], ben["label"]) == ("Ben", "baseline" if ben["swapped"] else "proposed")

    ratings = write_lines([*lines, ben], "ratings.jsonl")
    found = run_pearl("eval", "agreement", "--ratings", ratings, "--raters", "Ann Ø,Ben", "--json", "-").json
    assert (found["n"], found["items"], found["raters"][0]) == (13, 12, "Ann Ø")


def test_certainty_is_asked_for_and_saved(browse, make_page, run_pearl, write_lines):
    page, _ = make_page(PEOPLE, "--raters", "Ann, Ben")
    script = """
      document.getElementById("names").value = "Ben";
      begin("nobody reads this");
      sure("50"); const before = seen("done");
      press("1"); sure("101"); const beyond = seen("done");
      sure("85"); press("2"); sure("1"); press("s");
      tell({ before, beyond, place: seen("place"), saved, keys: document.querySelectorAll("#labels button").length });
    """
    found = browse(page, script)
    assert (found["before"], found["beyond"]) == (
        "Choose an answer first.",
        "Certainty is a whole number from 1 to 100.",
    )
    assert (found["place"], found["keys"]) == ("Item 3 of 3, 2 rated", 2)
    lines = [json.loads(line) for line in str(found["saved"]).splitlines()]
    assert sorted(line["certainty"] for line in lines) == [1, 85]
    for line in lines:
        assert line["rater"] == "Ben"
        assert (line["label"] == "A") == ((line["certainty"] == 85) != line["swapped"])
    judged = [{"id": f"p{n}", "ground_truth": "A", "answer": "A", "certainty": 90} for n in range(3)]
    files = write_lines(lines, "ratings.jsonl"), write_lines(judged, "judged.jsonl")
    study = run_pearl("eval", "personalized", "--ratings", files[0], "--records", files[1], "--json", "-")
    people = study.json["people"]
    assert (study.status, people["ratings"], people["compared"]) == (0, 2, 2)


def test_the_page_has_no_use_of_the_network(make_page):
    """Seen in its text, for the browser of a test has no network to be caught using."""
    page = make_page(DRAFTS)[0].read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none';")
    assert not re.search(r"connect-src|img-src|https?:", policy)
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    calls = r"fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|import\b|https?:|eval\(|\.src\b"
    assert not re.search(f"{calls}|innerHTML|insertAdjacent|document.write", script)
    assert "pre { font: inherit; white-space: pre-wrap; unicode-bidi: plaintext" in page  # Arabic from the right
    # one script, one block of data, and no text that could begin another
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    assert "<link" not in page
    data = json.loads(page.partition('id="study">')[2].partition("</script>")[0])
    assert data["items"][0]["texts"][0] == DRAFTS[0]["candidates"]["ours"]


def test_what_judges_are_asked_people_are_asked(make_page):
    assert make_page(PAIRS)[1]["labels"] == ["a_much", "a_slightly", "tie", "b_slightly", "b_much"]
    page, counts = make_page(TEXTS)
    assert counts["labels"] == ["not", "somewhat", "very", "cant_tell"]
    assert [title for title, _ in study_of(page)["items"][0]["parts"]] == ["Style: storytelling", "Text"]
    assert make_page(PEOPLE)[1]["labels"] == ["A", "B"]
    page, _ = make_page([{**PEOPLE[0], "own": True}])
    assert "Which of the two is this person's own?" in page.read_text(encoding="utf-8")
    assert make_page(PEOPLE, "--tie")[1]["labels"] == ["A", "B", "tie"]


def study_of(page):
    return json.loads(page.read_text(encoding="utf-8").partition('id="study">')[2].partition("</script>")[0])


def test_the_first_line_says_which_system_is_the_proposed_one(make_page):
    other_order = {**DRAFTS[1], "candidates": dict(reversed(DRAFTS[1]["candidates"].items()))}
    _, second = study_of(make_page([DRAFTS[0], other_order])[0])["items"]
    assert second["texts"] == [DRAFTS[1]["candidates"]["ours"], "Theirs 1."]


def test_a_persona_is_shown_without_fields_that_say_nothing(make_page):
    page, _ = make_page([{**PEOPLE[0], "persona": {"home": "a town", "age": None, "job": "", "children": 0}}])
    assert study_of(page)["items"][0]["parts"] == [["The person", "home: a town\nchildren: 0"]]


def test_drafts_that_failed_are_left_out(make_page):
    failed = {"id": "x", "reference": "a", "candidates": {"ours": None, "bm25": "b"}}
    assert make_page([*DRAFTS, failed])[1]["left_out"] == 1


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([], "there is no item in it"),
        ([{"id": "1"}], ":1: text: is missing; items have one of candidates, responses, text_a, text"),
        ([DRAFTS[0], PEOPLE[0]], ":2: text: is missing; items have one of"),
        ([DRAFTS[0], DRAFTS[0]], ":2: id: 'i0' is on line 1 already"),
        ([{**DRAFTS[0], "candidates": {"a": "b"}}], ":1: candidates: has a; name two of them with --systems"),
        ([DRAFTS[0], {**DRAFTS[1], "candidates": {"ours": "a", "c": "b"}}], ":2: candidates: has ours, c; name two"),
        ([{**DRAFTS[0], "candidates": [1]}], ":1: candidates: must be an object, not an array"),
        ([{**DRAFTS[0], "reference": 3}], ":1: reference: 'reference' must be a string"),
        ([{**PEOPLE[0], "responses": {"A": "a"}}], ":1: responses: "),
        ([{"id": "1", "text_a": "a"}], ":1: text_b: is missing"),
        ([{"id": "1", "text": "a"}], ":1: style: is missing"),
    ],
)
def test_items_that_cannot_be_rated(run_pearl, write_lines, tmp_path, lines, complaint):
    out = tmp_path / "page.html"
    run = run_pearl("ratings", "page", "--items", write_lines(lines, "items.jsonl"), "--out", out)
    assert complaint in run.refusal
    assert not out.exists()


@pytest.mark.parametrize(
    ("lines", "words", "complaint"),
    [
        (PEOPLE, ("--systems", "a", "b"), "pearl: --systems is for items with candidates; leave it out"),
        (DRAFTS, ("--systems", "ours", "ours"), ":1: candidates: has ours, bm25; name two of them with --systems"),
        (DRAFTS, ("--tie",), "pearl: --tie is for items with responses; leave it out"),
    ],
)
def test_options_for_other_items(run_pearl, write_lines, tmp_path, lines, words, complaint):
    out = tmp_path / "page.html"
    run = run_pearl("ratings", "page", "--items", write_lines(lines, "items.jsonl"), "--out", out, *words)
    assert not out.exists()
    assert complaint in run.refusal


RATINGS = [{"item": f"i{n}", "rater": rater, "label": "AB"[n % 2]} for n in range(6) for rater in ("Ann", "Ben")]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (RATINGS[3], "ratings.jsonl:13: rater: 'Ben' rated 'i1' already on line 4"),
        ({**RATINGS[0], "rater": "Cy"}, "ratings.jsonl:13: rater: 'Cy' is none of Ann, Ben"),
        ({"item": "i9", "label": "A"}, "ratings.jsonl:13: rater: is missing."),
        ({"item": "i9", "rater": "Ann", "label": ["A"]}, "ratings.jsonl:13: label: "),
    ],
)
def test_ratings_that_cannot_be_used(pearl_eval, write_lines, line, complaint):
    path = write_lines([*RATINGS, line], "ratings.jsonl")
    run = pearl_eval("agreement", "--ratings", path, "--raters", "Ann,Ben", "--json", "-")
    assert complaint in run.refusal


def test_ratings_as_json_lines(pearl_eval, write_lines):
    styled = [{**line, "style": "storytelling"} for line in RATINGS]
    found = pearl_eval("agreement", "--ratings", write_lines([*RATINGS, *styled], "ratings.jsonl"), "--json", "-").json
    assert (found["n"], found["items"]) == (24, 12)
