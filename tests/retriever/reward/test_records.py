"""The forms of the published files, and input that cannot be used."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from pearl.errors import InputError
from pearl.style.editing.edits import SpanEdit
from retriever.reward.records import EditTrace, QualityPair, ScoredParagraph, read_pairs, read_quality

PAIR = {"paragraph1": "The sea was grey.", "paragraph2": "The sea lay flat and grey.", "reference_preference": "2"}
FORM = "You must produce your answer in the following JSON format:"


def chat(asked, answer):
    turns = (("system", "You write."), ("user", asked), ("assistant", answer))
    return {"messages": [{"role": role, "content": content} for role, content in turns]}


def preference(answer='{"preference": "1"}'):
    return chat(f"Which is better?\n\nParagraph 1:\nOne sea.\n\nTwo.\n\nParagraph 2:\nA lake.\n\n{FORM}\n...", answer)


def scored(answer='{"score": 7}', text="One sea."):
    return chat(f"Score it.\n\nParagraph:\n{text}\n\n{FORM}\n...", answer)


def with_reasons(asked):
    """A chat with the reasons behind its question, as published."""
    asked["messages"][1]["content"] += "\n\nSome Thoughts: It is\n\nplain. "
    return asked


def trace(
    first="Span 1: `sea` (Category: `Cliche`)\nSpan 2: `was\ngrey` (Category: `Purple Prose`)",
    second="Span 1: `sea` -> `lake`\nSpan 2: `was\ngrey` -> ``",
):
    asked = "Edit it.\n\nHere is the paragraph you are editing:\nThe sea was\ngrey."
    return chat(asked, f"Part 1: Spans\n\n{first}\n\n\nPart 2: Rewriting\n\n{second}\n\n\nPart 3: Edits\n\nThe lake .")


@pytest.fixture
def written(tmp_path):
    def write(records, *, lines=False, packed=False):
        text = "\n".join(map(json.dumps, records)) if lines else json.dumps(records)
        path = tmp_path / "records.json"
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
        return path

    return write


@pytest.mark.parametrize("text", [json.dumps(PAIR), json.dumps([PAIR])])
def test_a_pipe(piped, text):
    assert [pair.preferred for pair in read_pairs(piped(text.encode()))] == [2]


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_every_form_is_read(written, lines, packed):
    structured = {"original_id": "a1", "paragraph": "The sea.", "zscore": 4.25, "zscore_int": 4}
    origin = PAIR | {"origin": "human-AI", "original_id": 3, "reference_preference": 1}
    path = written([PAIR, origin, structured, preference(), scored(), trace()], lines=lines, packed=packed)
    assert read_quality(path) == [
        QualityPair(1, PAIR["paragraph1"], PAIR["paragraph2"], 2),
        QualityPair(2, PAIR["paragraph1"], PAIR["paragraph2"], 1, "human-AI"),
        ScoredParagraph(3, "The sea.", 4.25),
        QualityPair(4, "One sea.\n\nTwo.", "A lake.", 1),
        ScoredParagraph(5, "One sea.", 7.0),
        EditTrace(
            6,
            "The sea was\ngrey.",
            (SpanEdit("sea", "lake", "Cliche"), SpanEdit("was\ngrey", "", "Purple Prose")),
            "The lake .",
        ),
    ]
    assert [pair.better for pair in read_pairs(path)] == [PAIR["paragraph2"], PAIR["paragraph1"], "One sea.\n\nTwo."]


def test_spans_that_only_one_part_has_are_kept_apart(written):
    (read,) = read_quality(written([trace(second="Span 1: `sea` -> `lake`\nSpan 2: `grey` -> `blue`")]))
    assert [edit.span for edit in read.edits] == ["sea"]
    assert [(refused.edit.span, refused.reason) for refused in read.unmatched] == [
        ("was\ngrey", "no_rewrite"),
        ("grey", "not_listed"),
    ]


def test_reasons_stand_behind_the_question_or_in_the_answer(written):
    records = [
        with_reasons(preference()),
        with_reasons(scored()),
        preference("{'reason': 'It\\'s \"plain\".', 'preference': '1'}"),  # in Python's notation, as published
        scored("{'reason': 'It\\'s \"plain\".', 'score': 7}"),
        preference('{"reason": "It\'s \\"plain\\".", "preference": "1"}'),
        PAIR | {"rationale": " Plain. "},
        PAIR | {"rationale": None},
    ]
    read = read_quality(written(records))
    assert [record.rationale for record in read] == [*["It is\n\nplain."] * 2, *['It\'s "plain".'] * 3, "Plain.", ""]
    assert read[0] == replace(read[2], line=1, rationale=read[0].rationale)  # the texts are the same
    assert read[1] == replace(read[3], line=2, rationale=read[1].rationale)


def pair_chat(both):
    return chat(f"Which is better?\n\nParagraph 1:\n{both}\n\n{FORM}\n...", '{"preference": "1"}')


def test_a_line_of_a_paragraph_that_reads_like_a_mark(written):
    records = [
        pair_chat("A list.\nParagraph 2:\nOf two.\n\nParagraph 2:\nA lake."),
        pair_chat("One sea.\n\nParagraph 2:\nA lake.\nParagraph 2:\nAnd more."),
        pair_chat("One sea.\n\nParagraph 2:\nA note:\n\nParagraph 1:\nA lake."),
        pair_chat("One sea.\nParagraph 2:\nA lake."),  # without the empty line
        with_reasons(pair_chat("One sea.\n\nParagraph 2:\nA lake.")),
    ]
    records[4]["messages"][1]["content"] += "\n\nParagraph 2:\nis shorter."
    assert [(pair.first, pair.second) for pair in read_pairs(written(records))] == [
        ("A list.\nParagraph 2:\nOf two.", "A lake."),
        ("One sea.", "A lake.\nParagraph 2:\nAnd more."),
        ("One sea.", "A note:\n\nParagraph 1:\nA lake."),
        ("One sea.", "A lake."),
        ("One sea.", "A lake."),
    ]


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (
            pair_chat("A list.\n\nParagraph 2:\nOf two.\n\nParagraph 2:\nA lake."),
            "messages: has 2 lines 'Paragraph 2:', so it cannot be told where the second one begins; give",
        ),
        (pair_chat("One sea."), "Paragraph 2: is missing."),
        (PAIR | {"paragraph1": " \n"}, "paragraph1: is empty."),
        (PAIR | {"paragraph2": "\u200b\u2060 \ufeff\n\u00ad\u3164"}, "paragraph2: is empty."),  # nobody sees them
        ({"paragraph": "\u200b", "score": 5}, "paragraph: is empty."),
        (scored(text="\u200b"), "Paragraph: is empty."),
        (PAIR | {"paragraph2": None}, "paragraph2: is missing."),
        (PAIR | {"paragraph2": 5}, "paragraph2: must be a string, not a number."),
        (PAIR | {"paragraph2": "sea " * 50_000}, "paragraph2: has 50,000 words; a paragraph has at most 20,000."),
        (PAIR | {"reference_preference": "3"}, "reference_preference: must be '1' or '2'."),
        (PAIR | {"reference_preference": True}, "reference_preference: must be '1' or '2'."),
        (PAIR | {"reference_preference": ["1"]}, "reference_preference: must be '1' or '2'."),
        ({"paragraph1": "a", "paragraph2": "b"}, "reference_preference: must be '1' or '2'."),
        ({"paragraph": "The sea."}, "score: must be a number."),
        ({"paragraph": "The sea.", "score": "good"}, "score: must be a number."),
        ({"text": "a"}, "needs paragraph1 and paragraph2, paragraph, or messages; the record has text."),
        (preference('{"preference": "0"}'), "preference: must be '1' or '2'."),
        (preference("One."), "messages: the assistant's message must be a JSON object with preference or score"),
        (preference("{'preference': '1'"), "messages: the assistant's message must be a JSON object with preference"),
        (preference("open('a')"), "messages: the assistant's message must be a JSON object with preference or score"),
        (preference('{"preference": "1", "reason": 5}'), "reason: must be a string, not a number."),
        (scored(text=" "), "Paragraph: is empty."),
        (chat("Score it.", '{"score": 3}'), "Paragraph: is missing."),
        ({"messages": []}, "messages: must hold a message of the user."),
        (chat("Edit it.", "Part 1: a\nPart 3: b"), "messages: the user's message holds no paragraph to edit."),
        ("sea", "must be a JSON object, not a string"),
    ],
)
def test_bad_records_are_named(written, record, says):
    with pytest.raises(InputError, match="record 2: ") as told:
        read_quality(written([PAIR, record]))
    assert says in told.value.message
    with pytest.raises(InputError, match=r"records\.json:2: "):
        read_quality(written([PAIR, record], lines=True))


@pytest.mark.parametrize("lines", [True, False])
def test_a_mark_of_the_byte_order_is_no_part_of_a_file(written, lines):
    path = written([PAIR, PAIR], lines=lines)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(read_pairs(path)) == 2


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (json.dumps([scored()]).encode(), "holds no pair"),
        (b"[{", "is not JSON"),
        (b'[{"paragraph1": "caf\xe9"}]', "is not UTF-8 (byte 21 of the file)"),
        (b'[{"text": "a"}, {"score": NaN}]', "record 2: score: is not JSON: NaN and infinity are no numbers there"),
        (b"[5, NaN]", "record 2: is not JSON: NaN"),
        (gzip.compress(b"[]", mtime=0)[:-6], "cannot be read: "),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_once(tmp_path, content, says):
    path = tmp_path / "records.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_pairs(path)
    assert refused.value.message.startswith(f"{path}: {says}")
    assert refused.value.message.count(str(path)) == 1


@pytest.mark.parametrize(("words", "equal"), [(20, True), (18, True), (17, False)])
def test_texts_are_equally_long_up_to_a_tenth_of_the_longer_one(words, equal):
    pair = QualityPair(1, "so " * 20, "no " * words, 1)
    assert pair.equally_long is replace(pair, first=pair.second, second=pair.first).equally_long is equal
