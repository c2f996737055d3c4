from __future__ import annotations

import pytest

from eval.asking.verdict import Answer
from eval.recorded.personalized.judgements import read_recording
from eval.recorded.personalized.presets import PRESETS
from eval.recorded.personalized.reading import read_verdicts
from eval.recorded.personalized.reply import ReplyForm
from pearl.errors import InputError


@pytest.fixture
def reading(write_lines):
    def read(lines, preset="recorded"):
        return read_verdicts(read_recording(write_lines(lines)), **PRESETS.chosen(preset))

    return read


def test_a_record_is_taken_apart(judged, write_lines):
    recording = read_recording(write_lines(judged(), "r.jsonl.gz"))
    assert recording.form == ReplyForm(tie=False, certainty=True, opened=True, recorded=True)
    assert recording.has_persona
    first = recording.judgements[2]
    assert (first.line, first.gold, first.letter, first.certainty) == (3, Answer.B, "A", 49)
    assert first.persona == "The person is a teacher near Graz."
    assert first.texts == ("Text number 4 of somebody.", "Text number 5 of someone else.")
    assert (first.target, first.distractor) == (first.texts[1], first.texts[0])


def test_texts_and_persona_come_from_the_prompt_where_no_field_has_them(judged, write_lines):
    lines = [{name: line[name] for name in ("prompt", "res", "ground_truth")} for line in judged(4)]
    judgement = read_recording(write_lines(lines)).judgements[0]
    assert judgement.persona == "The person is a baker in Porto."
    assert judgement.texts == ("Text number 0 of somebody.", "Text number 1 of someone else.")


def test_fields_that_nobody_knows_are_named(judged, write_lines):
    recording = read_recording(write_lines([*judged(3), *judged(2, colour="red")]))
    assert recording.passed_over == {"colour": 2}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ground_truth": None}, "ground_truth: must be 'A', 'B' or 'C'"),
        ({"ground_truth": "D"}, "ground_truth: must be 'A', 'B' or 'C'"),
        ({"answer": 3}, "answer: must be a string or false, not a number"),
        ({"certainty": [80]}, "certainty: must be a number or a string, not an array"),
        ({"certainty": 0.75}, "certainty: must be a whole number from 1 to 100, not 0.75"),
        ({"certainty": True}, "certainty: must be a number or a string, not a boolean"),
        ({"acc": "yes"}, "acc: must be true or false"),
        ({"prompt": 7}, "prompt: must be a string, not a number"),
        ({"user_info": {}}, "user_info: must be a string, not an object"),
    ],
)
def test_a_bad_field_is_named_with_file_and_line(judged, write_lines, change, said):
    path = write_lines([*judged(2), judged(1)[0] | change])
    with pytest.raises(InputError, match="must be") as error:
        read_recording(path)
    assert error.value.message.startswith(f"{path}:3: {said}")


def test_missing_fields_are_named_with_those_there_are(write_lines):
    path = write_lines([{"verdict": "A", "gold": "B"}])
    with pytest.raises(InputError, match=r":1: answer: is missing, and so is 'res'; the record has gold, verdict\."):
        read_recording(path)
    with pytest.raises(InputError, match=r":1: ground_truth: is missing; the record has answer\."):
        read_recording(write_lines([{"answer": "A"}]))


def test_an_empty_file(write_lines):
    with pytest.raises(InputError, match="there is no record in it"):
        read_recording(write_lines([]))


def test_bytes_that_are_not_utf_8(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"ground_truth": "A", "answer": "\xff"}\n')
    with pytest.raises(InputError, match=":1: "):
        read_recording(path)


def test_every_record_has_a_verdict(judged, reading):
    read = reading(judged())
    assert (len(read.verdicts), sum(read.correct)) == (40, 20)
    assert read.kinds["A"] + read.kinds["B"] == 40
    assert len(read.counted) == 40


UNREAD = {"answer": "[", "res": None}


def test_unread_replies_are_wrong_or_left_out(judged, reading):
    lines = [*judged(4), *judged(2, **UNREAD)]
    assert [len(reading(lines, name).counted) for name in ("recorded", "as_published", "corrected")] == [6, 4, 6]
    assert reading(lines).kinds["invalid"] == 2


def test_as_published_counts_them_as_wrong_where_a_tie_is_offered(judged, write_lines, reading):
    tie = {"prompt": "Say [[A]], [[B]] or [[C]] for a tie.\n[Answer]\n[["}
    lines = [*judged(4, **tie), *judged(2, **tie, **UNREAD), judged(1, **tie)[0] | {"ground_truth": "C", "answer": "C"}]
    assert len(reading(lines, "as_published").counted) == 7
    assert reading(lines).kinds["tie"] == 1
    recording = read_recording(write_lines(lines))
    assert len(read_verdicts(recording, **PRESETS.chosen("as_published", ["unparsed=dropped"])).counted) == 5


def test_a_tie_is_offered_where_prompts_say_so_or_spell_no_option(judged, write_lines):
    """Right answers that are ties tell only of prompts that do not spell their options out."""
    tie = {"ground_truth": "C"}
    spelt = read_recording(write_lines([*judged(18), *judged(2, **tie)]))
    assert not spelt.form.tie
    other = {"prompt": "Say A, B or neither, and your certainty."}
    assert read_recording(write_lines([*judged(18, **other), *judged(2, **other, **tie)])).form.tie
    assert not read_recording(write_lines([*judged(39, **other), *judged(1, **other, **tie)])).form.tie


def test_an_answer_of_false_is_none(judged, reading):
    read = reading(judged(3, answer=False, certainty=False))
    assert read.kinds["invalid"] == 0  # the reply is there, and read
    assert reading(judged(3, answer=False, certainty=False, res=None)).kinds["invalid"] == 3


@pytest.mark.parametrize("certainty", ["0", 101, -5, "999"])
def test_a_certainty_off_the_scale_is_none_and_the_recorded_answer_stays(judged, reading, certainty):
    read = reading(judged(8, certainty=certainty))
    assert not any(read.certainty > 0)
    assert sum(read.correct) == 4


@pytest.mark.parametrize("certainty", ["NA", None, False, "about 80", "8e1", "٨٠0000000000"])
def test_what_is_no_number_is_no_certainty(judged, reading, certainty):
    assert not any(reading(judged(4, certainty=certainty)).certainty > 0)


def test_certainties_of_other_types(judged, reading):
    assert list(reading(judged(2, certainty=80)).certainty) == [80, 80]
    assert list(reading(judged(2, certainty=80.0)).certainty) == [80, 80]
    assert list(reading(judged(2, certainty=" 80 ")).certainty) == [80, 80]


UNASKED = {"prompt": "Say [[A]] or [[B]].\n[Answer]\n[["}


def test_a_stray_number_that_was_not_asked_for_is_none(judged, reading):
    lines = [*judged(3, **UNASKED, certainty="NA"), *judged(1, **UNASKED, certainty="90")]
    assert not any(reading(lines).certainty > 0)


@pytest.mark.parametrize("preset", ["recorded", "as_published", "corrected"])
def test_a_certainty_that_most_records_have_counts_though_no_prompt_speaks_of_it(judged, reading, preset):
    assert list(reading(judged(4, **UNASKED, certainty=90, res="[[A]]"), preset).certainty) == [90] * 4


REASONED = "Based on what the person says of boats, the second is theirs. [[B]] [[70]]"


@pytest.mark.parametrize("preset", ["recorded", "as_published", "corrected"])
def test_an_answer_of_more_than_one_letter_is_the_reply(judged, reading, preset):
    read = reading([line | {"answer": REASONED, "res": None, "certainty": None} for line in judged(4)], preset)
    assert read.kinds["B"] == 4
    assert set(read.certainty) == {70}


def test_a_reply_alone_is_read_strictly_but_by_the_published_preset(judged, reading):
    lines = judged(4, answer=None, certainty=None, res=REASONED.replace("Based", "After reading"))
    assert [reading(lines, name).kinds["B"] for name in ("recorded", "as_published", "corrected")] == [4, 0, 4]


@pytest.mark.parametrize("preset", ["recorded", "corrected"])
def test_a_whole_reply_need_not_repeat_the_certainty_beside_it(judged, reading, preset):
    read = reading(judged(4, answer="It is the second one: [[B]]", certainty=80, res=None), preset)
    assert (read.kinds["B"], set(read.certainty)) == (4, {80})


def test_of_one_persona_the_pairs_of_texts_are_resampled(judged, reading):
    lines = judged(8)
    assert reading(lines).resampled == "personas"
    one = [
        line | {"prompt": line["prompt"].replace(line["user_info"], "It is Ann."), "user_info": ""} for line in lines
    ]
    alone = reading(one)
    assert (len(set(alone.names)), alone.resampled) == (8, "records")
    turned = [line | {"asst_A": line["asst_B"], "asst_B": line["asst_A"]} for line in one]
    both = reading([*one, *turned])
    assert (len(set(both.names)), both.resampled) == (8, "pairs of texts")


def test_blanks_around_a_letter_are_none_of_it(judged, reading):
    assert reading(judged(4, answer=" A\n", res=None)).kinds["A"] == 4


def test_the_corrected_preset_reads_raw_replies(judged, reading):
    lines = judged(4, res="Based on the user profile, the user is 23 years old", answer="B", certainty="23")
    assert reading(lines).kinds["B"] == 4
    assert reading(lines, "corrected").kinds["invalid"] == 4
