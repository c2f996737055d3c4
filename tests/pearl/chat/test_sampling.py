"""Choosing tokens, and the text that their bytes make."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from pearl.chat.base import Decoding
from pearl.chat.gguf import GgufFile
from pearl.chat.sampling import AnswerText, Sampler
from pearl.chat.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def vocabulary(tiny_gguf) -> Vocabulary:
    return Vocabulary(GgufFile(tiny_gguf).fields)


def logits(**others: float) -> np.ndarray:
    """Of eight tokens; ``t3=2.0`` is the logit of token 3, all others are -5."""
    values = np.full(8, -5.0, np.float32)
    for name, value in others.items():
        values[int(name[1:])] = value
    return values


def chosen(sampler: Sampler, times: int, **others: float) -> list[int]:
    return [sampler.next(logits(**others)) for _ in range(times)]


def test_the_likeliest_is_punished_for_each_repetition_within_the_window(vocabulary):
    # 3.0 / 1.5 is 2.0, less than 2.5; and 2.5 / 1.5 is less than 2.0
    assert chosen(Sampler(vocabulary, Decoding(), 1.5, 4), 4, t1=3.0, t2=2.5) == [1, 2, 1, 1]
    assert chosen(Sampler(vocabulary, Decoding(), 1.5, 1), 4, t1=3.0, t2=2.5) == [1, 2, 1, 2]
    assert chosen(Sampler(vocabulary, Decoding(), 1.0, 4), 3, t1=3.0, t2=2.5) == [1, 1, 1]
    # -4 becomes -6, below all others
    assert chosen(Sampler(vocabulary, Decoding(), 1.5, 4), 2, t1=-4.0, t2=-4.5) == [1, 2]
    assert chosen(Sampler(vocabulary, Decoding(), 1.0, 4, frequency=0.4), 4, t1=3.0, t2=2.5) == [1, 1, 2, 1]


def test_a_draw_follows_the_temperature(vocabulary):
    def shares(**decoding: float) -> Counter[int]:
        draws = (
            chosen(Sampler(vocabulary, Decoding(seed=seed, **decoding), 1.0, 4), 1, t1=2.0, t2=1.0)
            for seed in range(2000)
        )
        return Counter(token for (token,) in draws)

    # e to the power of 1 / temperature: 2.72 and 7.39 times as often
    assert shares(temperature=1.0)[1] / 2000 == pytest.approx(0.731, abs=0.04)
    assert shares(temperature=0.5)[1] / 2000 == pytest.approx(0.881, abs=0.03)
    assert shares(temperature=1.0, top_p=0.7) == {1: 2000}  # the first alone has more
    assert shares(temperature=1.0, top_p=0.0) == {1: 2000}
    assert set(shares(temperature=9.0)) == {1, 2}  # the others have less than a twentieth of the first one's share


def test_only_the_forty_likeliest_are_drawn(vocabulary):
    drawn = {
        Sampler(vocabulary, Decoding(temperature=50.0, seed=seed), 1.0, 4).next(np.linspace(0, 1, 100))
        for seed in range(500)
    }
    assert drawn == set(range(60, 100))


@pytest.mark.parametrize("likes", [0.0, 9.0])
def test_an_answer_is_held_to_the_choices(vocabulary, likes):
    """``the`` is one token here; ``then`` begins with it, and so may the answer after it."""
    choices = ("the", "then 12", "\u65e5")
    values = np.zeros(300, np.float32)
    values[vocabulary.token(b"n")] = likes
    for seed in range(20):
        sampler, said = Sampler(vocabulary, Decoding(temperature=3.0, seed=seed, choices=choices), 1.0, 8), b""
        while not vocabulary.ends(token := sampler.next(values.copy())):
            said += vocabulary.piece(token)
        assert said.decode() in choices


def told(stops: tuple[str, ...], *pieces: bytes) -> tuple[list[str], bool]:
    """The texts that an answer lets go, and if it was stopped."""
    answer = AnswerText(stops)
    texts = []
    for piece in pieces:
        texts.append(answer.add(piece))
        if answer.stopped:
            break
    return [text for text in (*texts, answer.rest()) if text], answer.stopped


@pytest.mark.parametrize(
    ("stops", "pieces", "texts", "stopped"),
    [
        ((), [b"one", b" two"], ["one", " two"], False),
        ((), ["日".encode()[:2], "日".encode()[2:], b"!"], ["日", "!"], False),
        ((), [b"cut ", "日".encode()[:2]], ["cut "], False),  # no half character at the end
        (("END",), [b"all", b" EN", b"D more"], ["all", " "], True),
        (("END",), [b"all E", b"N", b"OUGH"], ["all ", "ENOUGH"], False),
        (("END",), [b"all E", b"N"], ["all ", "EN"], False),
        (("END", "\n"), [b"one\ntwo END"], ["one"], True),
        (("aab",), [b"a", b"a", b"a", b"b"], ["a"], True),
        (("",), [b"text"], ["text"], False),
    ],
)
def test_bytes_become_text_up_to_a_stop_text(stops, pieces, texts, stopped):
    assert told(stops, *pieces) == (texts, stopped)


@pytest.mark.parametrize(
    ("written", "following", "ends"),
    [
        ("The kettle is on.", b" And", True),
        ("The kettle is on.", b"\n", True),
        ("(Mind the tide!)", b" And", True),
        ("Mind the tide,\n", b"Otti", True),
        ("\u6f6e\u6c34\u6765\u4e86\u3002", "\u6211".encode(), True),
        ("\u300c\u6f6e\u6c34\u6765\u4e86\u3002", "\u300d".encode(), False),
        ("«Прилив пришёл.»", " Да".encode(), True),
        ("ज्वार आ गया है।", " हाँ".encode(), True),
        ("ज्वार आ गया है।", "।".encode(), False),
        ("ջուրը բարձր է։", " Այո".encode(), True),
        ("The kettle is on", b" and", False),
        ("The kettle is", b" on.", False),
        ("It costs 3.", b"50", False),
        ("It costs 3.", b" Or", False),  # may as well be the mark of a list
        ("A bicycle, e.g.", b" one", False),
        ("Write to J.", b" Pellow", False),
        ("See otti.", b"example", False),
        ("", b" ", False),
    ],
)
def test_where_a_sentence_or_a_line_ends(written, following, ends):
    answer = AnswerText([])
    for character in written:
        answer.add(character.encode())
    assert answer.ends_before(following) is ends
