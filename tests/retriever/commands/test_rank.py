from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest

from pearl.records import Document, Request
from retriever.calibrated.artifact import artifact_retriever
from retriever.registry import UNTRAINED, make_retriever

LINES = [
    {
        "request": "how do I bake bread?",
        "timestamp": "2026-03-01T09:30:00Z",
        "user_id": "ann",
        "documents": [
            {"text": "Bread needs flour and time.", "timestamp": 1_700_000_000, "id": "a", "request": "recipe?"},
            {"text": "The train leaves at four.", "timestamp": "2023-01-01T00:00:00+02:00", "id": 7},
            {"text": "Sourdough bread rises slowly.", "id": None, "request": None, "timestamp": None},
            {"text": ""},
        ],
    },
    {"request": "nothing to rank", "documents": []},
    {"request": "\U0001f600 שלום", "timestamp": None, "documents": [{"text": "今日は"}, {"text": "x" * 50_000}]},
]


@pytest.fixture
def rank(encoder_once, run_pearl) -> Callable[..., Any]:
    """`pearl rank` with options by name."""
    return partial(run_pearl, "rank")


@pytest.mark.parametrize("model", UNTRAINED)
def test_a_line_out_for_each_line_in(embedded_once, rank, write_lines, tmp_path, model):
    output = tmp_path / "out.jsonl"
    run = rank(model=model, input=write_lines(LINES), output=output)
    assert (run.status, run.out, run.err) == (0, "", "")
    found = [json.loads(line) for line in output.read_text().splitlines()]
    assert [list(line) for line in found] == [["scores", "top_score", "below_threshold"]] * 3
    assert [len(line["scores"]) for line in found] == [4, 0, 2]
    assert all(math.isfinite(score) for line in found for score in line["scores"])
    assert [line["top_score"] for line in found] == [max(line["scores"], default=None) for line in found]
    assert found[1] == {"scores": [], "top_score": None, "below_threshold": False}
    assert all(line["below_threshold"] is False for line in found)


@pytest.mark.parametrize("model", [name for name in UNTRAINED if name != "likelihood"])  # which takes seconds to load
def test_the_scores_are_the_retrievers(rank, write_lines, encoder, model):
    line = LINES[0]
    run = rank(model=model, input=write_lines([line]), output="-")
    documents = [
        Document(str(n), document["text"], request=document.get("request"))
        for n, document in enumerate(line["documents"])
    ]
    expected = make_retriever(model, encoder).index(documents).scores(Request(line["request"]))
    assert run.json["scores"] == pytest.approx(expected.tolist(), abs=1e-5)
    if model not in ("random", "recent"):
        assert expected.argmax() in (0, 2)


def test_a_compressed_file_and_standard_output(rank, write_lines, tmp_path):
    plain = rank(model="bm25", input=write_lines(LINES), output="-")
    packed = rank(model="bm25", input=write_lines(LINES, "lines.jsonl.gz"), output="-")
    assert plain.out == packed.out
    assert plain.out.count("\n") == 3
    empty = rank(model="bm25", input=write_lines([], "empty.jsonl"), output="-")
    assert (empty.status, empty.out, empty.err) == (0, "", "")


def test_unpaired_times_and_unknown_fields_are_fine(rank, write_lines):
    line = {"request": "a", "timestamp": 0, "documents": [{"text": "a", "timestamp": -5.5, "kind": "mail"}], "x": [1]}
    assert rank(model="bm25", input=write_lines([line]), output="-").status == 0


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "is not JSON"),
        ("[]", "must be a JSON object, not an array"),
        ({"documents": []}, "request: 'request' is missing."),
        ({"request": 5, "documents": []}, "request: 'request' must be a string, not a number."),
        ({"request": " ", "documents": []}, "request: 'request' is empty"),
        ({"request": "a\0", "documents": []}, "request: 'request' contains a NUL"),
        ({"request": "a"}, "documents: 'documents' must be an array, not null."),
        ({"request": "a", "documents": {}}, "documents: 'documents' must be an array, not an object."),
        ({"request": "a", "documents": ["b"]}, "documents.0: must be an object, not a string."),
        ({"request": "a", "documents": [{"text": "b"}, {}]}, "documents.1.text: must be a string, not null."),
        ({"request": "a", "documents": [{"text": "b", "request": 5}]}, "documents.0.request: must be a string"),
        ({"request": "a", "documents": [{"text": "b", "id": ""}]}, "documents.0.id: "),
        ({"request": "a", "documents": [{"text": "b", "timestamp": "soon"}]}, "documents.0.timestamp: "),
        ({"request": "a", "documents": [{"text": "b", "timestamp": 1.7e12}]}, "documents.0.timestamp: "),
        ({"request": "a", "documents": [{"text": "b", "timestamp": 9e9}]}, "documents.0.timestamp: "),
        ({"request": "a", "timestamp": [], "documents": []}, "timestamp: 'timestamp' must be Unix seconds"),
        ({"request": "a", "documents": [{"text": "x" * 1_000_001}]}, "documents.0.text: "),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_written(rank, write_lines, tmp_path, line, complaint):
    source = write_lines([LINES[0], "", line, LINES[1]])
    run = rank(model="bm25", input=source, output=tmp_path / "out.jsonl")
    assert (run.status, run.out) == (2, "")
    assert run.err.startswith(f"pearl: {source}:3: {complaint}")
    assert run.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lines.jsonl"]
    assert rank(model="bm25", input=source, output="-").out == ""


def test_what_was_there_stays_when_a_line_is_bad(rank, write_lines, tmp_path):
    output = tmp_path / "out.jsonl"
    output.write_text("from before")
    assert rank(model="bm25", input=write_lines(["{"]), output=output).status == 2
    assert output.read_text() == "from before"
    assert rank(model="bm25", input=write_lines([LINES[1]]), output=output).status == 0
    assert output.read_text().startswith('{"scores":[]')
    assert output.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("name", ["missing/out.jsonl", ".", "lines.jsonl"])
def test_an_output_that_cannot_be_written(rank, write_lines, tmp_path, name):
    """The last one is the file of the requests."""
    requests = write_lines(LINES)
    before = requests.read_bytes()
    run = rank(model="bm25", input=requests, output=tmp_path / name)
    assert run.status == 2
    assert run.err.startswith("pearl: --output ")
    assert requests.read_bytes() == before


def test_an_output_that_cannot_be_finished_leaves_the_one_before(rank, write_lines, files_of_at_most, tmp_path):
    (tmp_path / "out.jsonl").write_text("before")
    source = write_lines(LINES * 20)
    with files_of_at_most(100):
        run = rank(model="bm25", input=source, output=tmp_path / "out.jsonl")
    assert (run.status, run.err) == (2, f"pearl: --output {tmp_path / 'out.jsonl'}: File too large\n")
    assert (tmp_path / "out.jsonl").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out.jsonl"]


def test_a_pipe_as_output(rank, write_lines, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    run = rank(model="bm25", input=write_lines(LINES), output=pipe)
    reader.join()
    assert run.status == 0
    assert read[0].count("\n") == 3
    assert pipe.is_fifo()  # and was not replaced, as a device would be by root


@pytest.mark.parametrize("with_cross_encoder", [False, True])
def test_an_artifact_gives_the_retrievers_scores_and_its_theta(
    rank, write_lines, tmp_path, encoder, make_artifact, cross_encoder_folder, with_cross_encoder
):
    """The documents are not in order of age."""
    times = (1_700_000_300.0, 1_700_000_100.0, 1_700_000_200.0)
    texts = ("Bread needs flour and time.", "The train leaves at four.", "Sourdough bread rises slowly.")
    documents = [Document(text[:3], text, time, "item") for text, time in zip(texts, times, strict=True)]
    lines = [
        {"request": asked, "timestamp": 1_700_000_400, "documents": [asdict(each) for each in documents]}
        for asked in ("how do I bake bread?", "when does it leave?")
    ]
    signals = {"cosine_text": 3.0, "log_recency": -0.1, "within_15_minutes": 0.5}
    model = cross_encoder_folder if with_cross_encoder else None
    plain = artifact_retriever(make_artifact(signals, cross_encoder=model, encoder=encoder.name), encoder)
    expected = [plain.index(documents).scores(Request(line["request"], 1_700_000_400.0)) for line in lines]
    best = sorted(float(scores.max()) for scores in expected)
    folder = make_artifact(signals, cross_encoder=model, encoder=encoder.name, threshold=sum(best) / 2)

    run = rank(model=folder, input=write_lines([*lines, {"request": "nothing", "documents": []}]), output="-")

    assert run.status == 0
    assert run.err.startswith("tiny: y0 20 nats, tau 5, theta ")
    *found, nothing = [json.loads(line) for line in run.out.splitlines()]
    for line, scores in zip(found, expected, strict=True):
        assert line["scores"] == pytest.approx(scores.tolist(), abs=1e-5)
        assert line["top_score"] == max(line["scores"])
        assert line["below_threshold"] is (line["top_score"] < sum(best) / 2)
    assert {line["below_threshold"] for line in found} == {True, False}
    assert nothing == {"scores": [], "top_score": None, "below_threshold": False}


def test_what_the_line_before_had_is_not_read_again(rank, write_lines, encoder, monkeypatch):
    read: list[str] = []
    kind, encode = type(encoder), type(encoder).encode_documents
    monkeypatch.setattr(kind, "encode_documents", lambda self, texts: read.extend(texts) or encode(self, texts))
    texts = ("Bread needs flour and time.", "The train leaves at four.", "Sourdough bread rises slowly.")
    documents = [{"text": text, "request": f"item {text[:3]}"} for text in texts]
    lines = [{"request": "bread?", "documents": some} for some in (documents[:2], documents, documents[1:])]
    run = rank(model="embedded", input=write_lines(lines), output="-")
    assert sorted(read) == sorted({text for document in documents for text in document.values()})
    for line, scored in zip(lines, run.out.splitlines(), strict=True):
        alone = rank(model="embedded", input=write_lines([line]), output="-").json["scores"]
        assert json.loads(scored)["scores"] == pytest.approx(alone, abs=1e-5)


def test_it_warns_of_an_artifact_that_says_not_to_use_it(rank, write_lines, make_artifact):
    artifact = make_artifact(encoder="all-MiniLM-L6-v2", do_not_use=("7 scored requests to choose by, fewer than 30",))
    run = rank(model=artifact, input=write_lines(LINES[:1]), output="-")
    assert run.status == 0
    assert run.err.startswith("Do not use this artifact: 7 scored requests to choose by, fewer than 30. tiny: ")
    assert len(json.loads(run.out)["scores"]) == 4
