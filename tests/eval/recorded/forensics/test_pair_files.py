"""Files of annotated pairs: nothing is lost between reading and writing, and what is wrong is named."""

from __future__ import annotations

import csv
import gzip
import json
from time import process_time

import pytest

from eval.recorded.forensics.pair_files import read_pairs, stream_pairs, write_pairs
from eval.recorded.forensics.pairs import Vote, named, pair_id, short_id
from pearl.errors import InputError

HALF = "\ud83d"  # of a surrogate pair, which programs cut and JSON can hold
SECOND = {
    "metadata": {"version": "2.0", "default_annotator": "ann", "licence": {"kept": [1, 2.5, None]}},
    "annotators": {"ann": {"name": "Ann", "type": "human", "age": 40}, "abcd1234": {"description": "is kind"}},
    "comparisons": [
        {
            "id": "00000001",
            "prompt": None,
            "response_a": {"text": "One\u2028 <b>", "model": "m", "tokens": 3},
            "response_b": {"text": "Two\r\n\t\"'"},
            "annotations": {
                "ann": {"pref": None, "no_pref_reason": "both", "seconds": 1e-7},
                "abcd1234": {"pref": "b", "raw": {"votes": ["b", "b", None]}},
            },
            "metadata": {"topic": "æ", "index": 7},
            "seen": True,
        },
        {
            "id": "00000002",
            "prompt": "Why?",
            "response_a": {"text": "x"},
            "response_b": {"text": "y"},
            "annotations": {},
        },
    ],
    "note": ["of somebody's own"],
}
FIRST = {
    "metadata": {"version": "1.0"},
    "annotators": {"ann": {"name": "Ann"}},
    "comparisons": [
        {
            "id": "1",
            "text_a": "One",
            "text_b": "Two",
            "model_a": "m",
            "annotations": {"ann": {"pref": "text_b"}},
            "k": 1,
        }
    ],
}


def write(path, value):
    content = json.dumps(value).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("value", [SECOND, FIRST], ids=["version 2", "version 1"])
@pytest.mark.parametrize("name", ["out.json", "out.json.gz", "out.jsonl", "out.jsonl.gz"])
def test_nothing_is_lost(tmp_path, value, name):
    data = read_pairs(write(tmp_path / "in.json.gz", value))
    write_pairs(tmp_path / name, data)
    again = read_pairs(tmp_path / name)
    assert again == data
    write_pairs(tmp_path / "back.json", again)
    assert json.loads((tmp_path / "back.json").read_text(encoding="utf-8")) == value
    assert not list(tmp_path.glob("*.part"))


def test_half_a_surrogate_pair_survives(tmp_path):
    value = json.loads(json.dumps(SECOND))
    value["comparisons"][0]["response_a"]["text"] += HALF
    write_pairs(tmp_path / "out.json", read_pairs(write(tmp_path / "in.json", value)))
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == value


def test_the_pairs_and_their_votes_are_read(tmp_path):
    second = read_pairs(write(tmp_path / "in.json", SECOND))
    pair = second.pairs[0]
    assert (pair.models, pair.prompt, pair.metadata["topic"]) == (("m", None), None, "æ")
    assert (pair.vote("ann"), pair.vote("abcd1234"), pair.vote("nobody")) == (Vote.BOTH, Vote.B, None)
    assert [annotator.name for annotator in second.annotators.values()] == ["Ann", "is kind"]
    first = read_pairs(write(tmp_path / "in.json", FIRST)).pairs[0]
    assert (first.texts, first.models, first.vote("ann")) == (("One", "Two"), ("m", None), Vote.B)


def test_ids_are_those_of_the_public_tool():
    # from the file that comes with it, and by hand: MD5 of the JSON of both responses, the prompt before them
    assert short_id("Select the response that is more concise") == "bf731c7f"
    assert pair_id({"text": "x"}, {"text": "y"}, None) == short_id('{"text": "x"}|{"text": "y"}')
    assert pair_id({"text": "x"}, {"model": "m", "text": "y"}, "Why?") == short_id(
        'Why?|{"text": "x"}|{"model": "m", "text": "y"}'
    )


@pytest.mark.parametrize("prompt", ["prompt", "input"])
def test_a_csv_is_read_without_loss(tmp_path, prompt):
    rows = [
        ["text_a", "text_b", "preferred_text", prompt, "model_a", "model_b", "human 2", "topic"],
        ["I do not know.", "No idea.", "text_a", "Why?", "m1", "m2", "text_b", "life"],
        ["I do not know.", "No idea.", "text_b", "Where?", "m1", "m2", "", "maps"],
        ['Two\nlines, "quoted"\r', "x", "both", "", "m1", "", "text_a", ""],
    ]
    path = tmp_path / "in.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    data = read_pairs(path)
    assert [pair.prompt for pair in data.pairs] == ["Why?", "Where?", None]
    assert [pair.vote("ba751e7b") for pair in data.pairs] == [Vote.A, Vote.B, Vote.BOTH]
    assert [pair.vote(short_id("column_human 2")) for pair in data.pairs] == [Vote.B, None, Vote.A]
    assert len({pair.id for pair in data.pairs}) == 3
    assert data.pairs[0].metadata == {"topic": "life"}
    write_pairs(tmp_path / "out.jsonl.gz", data)
    assert read_pairs(tmp_path / "out.jsonl.gz") == data


def test_a_csv_of_many_columns_takes_time_in_proportion(tmp_path):
    def seconds(columns: int) -> float:
        path = tmp_path / f"{columns}.csv"
        names = ",".join(f"column {number}" for number in range(columns))
        path.write_text(f"text_a,text_b,preferred_text,{names}\nx,y,text_a{',text_b,-' * (columns // 2)}\n")
        begun = process_time()
        assert len(read_pairs(path).annotators) == 1 + columns // 2
        return process_time() - begun

    few, many = (min(seconds(columns) for _ in range(3)) for columns in (2000, 8000))
    assert many < 9 * few


def test_no_csv_is_written(tmp_path):
    with pytest.raises(InputError, match=r"out.csv.gz: a CSV has no place for annotated pairs; write .json or .jsonl"):
        write_pairs(tmp_path / "out.csv.gz", read_pairs(write(tmp_path / "in.json", SECOND)))


def test_pairs_come_before_the_end_of_the_file_is_read(tmp_path):
    """A file of any size is streamed: its end is not looked at before."""
    path = tmp_path / "cut.json"
    path.write_text(json.dumps(SECOND)[: -len('}], "note": ["of somebody\'s own"]}')] + "\n\n]", encoding="utf-8")
    stream = stream_pairs(path)
    assert [name for name, _ in (next(stream) for _ in range(3))] == ["metadata", "annotators", "comparisons"]
    with pytest.raises(InputError, match=r"cut.json:3: is not JSON"):
        list(stream)


def test_two_gigabytes_are_refused_at_the_first_fault(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.write(b'{"metadata": {}, "annotators": {}, "comparisons": [')
        file.truncate(2 * 2**30)
    with pytest.raises(InputError, match=r"huge.json:1: is not JSON: Expecting value"):
        read_pairs(path)


def test_a_data_set_that_does_not_fit_into_memory_is_refused_with_the_limit(tmp_path):
    with pytest.raises(InputError, match=r"more than 5 characters.* metrics and compare read files of any size"):
        read_pairs(write(tmp_path / "in.json", SECOND), most=5)


def changed(**fields):
    return {**SECOND, "comparisons": [{**SECOND["comparisons"][0], **fields}]}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({**SECOND, "comparisons": []}, "in.json: there is no pair in it"),
        ({"metadata": {"version": "3.0"}}, "in.json:1: metadata.version: is 3.0; versions 1 and 2 are known"),
        ({**SECOND, "annotators": {"ann": 3}}, "in.json:1: annotators.ann: must be an object, not a number"),
        ({**SECOND, "comparisons": [5]}, "in.json:1: pair 1: must be an object, not a number"),
        (changed(response_b=None), r"pair 1 \(00000001\): response_b: is missing"),
        (changed(response_a={"text": 4}), r"pair 1 \(00000001\): response_a.text: must be a string, not a number"),
        (changed(response_b={"model": ["m"]}), r"\(00000001\): response_b.model: must be a string, not an array"),
        (changed(prompt=[1]), r"pair 1 \(00000001\): prompt: must not be an array"),
        (
            changed(annotations={"ann": {"pref": "c"}}),
            r"pair 1 \(00000001\): annotations.ann.pref: is 'c'; a vote is one of a, b, both, neither, not_",
        ),
        (
            changed(annotations={"ann": {"pref": None, "no_pref_reason": "tired"}}),
            "annotations.ann.no_pref_reason: is 'tired'",
        ),
        (changed(annotations={"ann": "a"}), "annotations.ann: must be an object, not a string"),
        ([SECOND], "in.json:1: must be one object with metadata, annotators and comparisons"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, value, message):
    with pytest.raises(InputError, match=message):
        read_pairs(write(tmp_path / "in.json", value))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("in.json", "", "in.json: is empty"),
        ("in.json", " \n", "in.json: is empty"),
        ("in.json", '{"metadata": {}, "x": NaN}', "in.json:1: has NaN, which is no number of JSON"),
        ("in.json", '{"metadata": {}}\n{"id": 1}', "in.json:2: goes on after the object; is it JSON Lines"),
        ("in.jsonl", "", "in.jsonl: there is no pair in it"),
        ("in.jsonl", '{"id": "1"}\n', "in.jsonl:1: annotators: is missing"),
        ("in.jsonl", '{"annotators": {}}\n{"id": 1,\n', "in.jsonl:2: is not JSON"),
        ("in.csv", "", "in.csv: is empty"),
        ("in.csv", "text_a,text_b\n", "in.csv:1: preferred_text: there is no such column"),
        ("in.csv", "text_a;text_b;preferred_text\nx;y;a\n", "preferred_text, with commas between them."),
        ("in.csv", "text_a,text_b,a,b,preferred_text,b,a\n", "in.csv:1: a: two columns have that name"),
        ("in.csv", "text_a,text_b,preferred_text\nx,y\n", "in.csv:2: has 2 cells; the header has 3"),
        ("in.csv", "text_a,text_b,preferred_text\nx,y,z\n", "in.csv:2: preferred_text: is 'z'; a vote is one of"),
        ("in.csv", 'text_a,text_b,preferred_text\nx,"y\n"z",a\n', "in.csv:2: is not CSV: on line 3, no comma follows"),
        ("in.csv", "text_a,text_b,preferred_text\n", "in.csv: there is no pair in it"),
        ("in.txt", "", "in.txt: a file of pairs ends in .json, .jsonl, .csv, or one of these and .gz"),
    ],
)
def test_bad_files_are_named(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_pairs(path)


def test_annotators_of_one_name_need_an_id(tmp_path):
    value = {**SECOND, "annotators": {"x": {"name": "Ann"}, "y": {"name": "Ann"}, "z": {"name": "Bén"}}}
    annotators = read_pairs(write(tmp_path / "in.json", value)).annotators
    assert (named(annotators, "y").id, named(annotators, "Be\u0301n").id) == ("y", "z")
    with pytest.raises(InputError, match="2 annotators are named 'Ann'; give the id of one: x, y"):
        named(annotators, "Ann")
    with pytest.raises(InputError, match="there is no annotator 'Eve'; there are Ann, Ann, Bén"):
        named(annotators, "Eve")


def test_the_public_files_are_read(shared):
    data = read_pairs(shared / "data" / "forensics" / "annotated_pairs.json")
    assert (len(data.pairs), len(data.annotators), data.pairs[0].vote("ba751e7b")) == (1, 41, Vote.A)
    pair = data.pairs[0]
    assert pair.id == pair_id(pair.fields["response_a"], pair.fields["response_b"], pair.prompt)
