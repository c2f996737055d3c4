"""What a draft claims, by a table: each fact in another form is the same fact."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from pearl.claims.claims import CARRIED_OVER, COMMITMENT, DROPPED, UNSUPPORTED, Claim, Sample, claims
from pearl.claims.known_text import forget_samples

COATS = Sample("coats", "We are collecting winter coats again for anyone in Skellmouth who is cold.\n\nBest, Ada")
RAILS = "Tell Nan that the costume rails will be ready on Friday."


def found(draft: str, request: str, *samples: str) -> list[tuple[str, str]]:
    got = claims(draft, request, [Sample(str(number), text) for number, text in enumerate(samples)])
    for claim in got:
        if claim.start is not None:
            assert draft[claim.start : claim.end] == claim.text
    return [(claim.kind, claim.text) for claim in got]


def test_a_sentence_of_another_letter_is_carried_over() -> None:
    text = "We are collecting winter coats again for anyone in Skellmouth"
    draft = f"Nan, the costume rails will be ready on Friday. {text}."
    start = draft.index(text)
    assert claims(draft, RAILS, [COATS]) == [Claim(CARRIED_OVER, text, start, start + len(text), "coats")]


def test_a_clause_with_one_word_changed_is_carried_over_whole() -> None:
    sample = "The library opens again after the summer and all of the old chairs have been mended by volunteers."
    draft = "The library opens again after the winter and all of the old chairs have been mended by volunteers."
    assert found(draft, "Say that the library opens.", sample) == [(CARRIED_OVER, draft.rstrip("."))]


@pytest.mark.parametrize(
    "draft",
    ["Your terms are indeed not the usual ones.", "The new terms are still not the usual ones, are they?"],
)
def test_six_words_with_one_changed_are_a_clause(draft: str) -> None:
    (claim,) = found(draft, "Answer them.", "I said: your terms are still not the usual ones.")
    assert claim[0] == CARRIED_OVER
    assert "not the usual ones" in claim[1]


def test_a_clause_does_not_begin_in_another_sentence_or_item() -> None:
    sample = "The patch adds these.\n- Add a helper. The walls are red because it was cheap."
    assert found("The patch adds these.\n- Add a test.", "Say it.", sample) == []
    assert found("I have a helper. The walls are green.", "Say it.", sample) == []


def test_a_clause_that_comes_again_with_a_word_changed_is_claimed_once() -> None:
    sample = "The library opens again after the long summer."
    draft = "The library opens again after the long summer. The library opens again after the short summer."
    assert found(draft, "Say it.", sample) == [(CARRIED_OVER, sample.rstrip("."))]


def test_a_fact_within_a_clause_that_no_sample_has_is_unsupported() -> None:
    sample = "Derived from src/soc/intel/apollo/graphics.c with all changes needed here."
    draft = "Derived from src/soc/intel/cannon/graphics.h with all changes needed here."
    assert (UNSUPPORTED, "src/soc/intel/cannon/graphics.h") in found(draft, "Say it.", sample)
    assert found(
        "Place it where the user says by CONFIG_RMA_BIN.", "Say it.", "Place it where the user says by CONFIG."
    ) == [
        (CARRIED_OVER, "Place it where the user says by"),
        (UNSUPPORTED, "CONFIG_RMA_BIN"),
    ]


def test_what_comes_again_in_the_samples_is_manner() -> None:
    samples = ("Many thanks for all the work you do. Bring chairs.", "Many thanks for all the work you do! Ilse rang.")
    assert (
        found("Many thanks for all the work you do. The rails are ready.", "Say the rails are ready.", *samples) == []
    )


def test_a_name_in_two_samples_is_the_persons_world() -> None:
    samples = ("We meet in Skellmouth on Sunday.", "The boats of Skellmouth are in.")
    assert found("The rails are in Skellmouth.", "Say where the rails are.", *samples) == []


def test_a_name_with_a_digit_in_two_samples_is_the_persons_world() -> None:
    assert found("We at 18F are ready.", "Say we are ready.", "18F is here.", "Ask 18F.") == []


def test_an_identifier_is_claimed_once() -> None:
    assert found("Call `this._next()` or `_next`.", "Say it.") == [(UNSUPPORTED, "`this._next()`")]


def test_a_fact_of_nowhere_is_unsupported() -> None:
    assert found("Nan, the costume rails will be ready on Friday at 10:30.", RAILS) == [(UNSUPPORTED, "10:30")]


def test_a_fact_of_the_request_that_is_missing_is_dropped() -> None:
    assert found("The costume rails will be ready on Friday.", RAILS) == [(DROPPED, "Nan")]


def test_a_promise_is_a_commitment_unless_the_request_makes_it() -> None:
    draft = "The costume rails are ready, Nan. I'll send them on Friday."
    assert found(draft, RAILS) == [(COMMITMENT, "I'll send them on Friday")]
    assert found(draft, RAILS + " I'll send them on Friday, say that, too.") == []


@pytest.mark.parametrize(
    ("draft", "request_text"),
    [
        ("See you on 4 March.", "We meet on 04.03."),
        ("See you on the fourth of March.", "We meet on 2026-03-04."),
        ("See you on March 4, 2026.", "We meet on 4/3/2026."),
        ("Bis zum 4. März!", "We meet on March 4."),
        ("À vendredi 4 mars.", "We meet on Friday, March 4."),
        ("El viernes 4 de marzo.", "We meet on Friday, 4 March."),
        ("Na sexta-feira, 4 de março.", "We meet on Friday, 4 March."),
        ("Venerdì 4 marzo.", "We meet on Friday, 4 March."),
        ("Vrijdag 4 maart.", "We meet on Friday, 4 March."),
        ("3月4日に会います。", "We meet on March 4."),
        ("It starts at 3 pm.", "It starts at 15:00."),
        ("Um 15 Uhr geht es los.", "It starts at 3 p.m."),
        ("It costs 1.000 €.", "It costs €1,000."),
        ("There are 12 chairs.", "There are twelve chairs."),
        ("There are １２ chairs.", "There are 12 chairs."),
        ("There are ١٢ chairs.", "There are 12 chairs."),
        ("There are ١٬٢٠٠ chairs.", "There are 1,200 chairs."),
        ("There are １，２００ chairs.", "There are 1,200 chairs."),
        ("１０％ are mended.", "10% are mended."),
        ("Wir beginnen um ١٠:٣٠.", "We begin at 10:30."),
        ("３月４日に会います。", "We meet on March 4."),
        ("On ２０２６-０３-０４ we meet.", "We meet on 4 March 2026."),
        ("On April 3, 2026 we meet.", "We meet on 03/04/2026."),
        ("We meet on 03/04/2026.", "On April 3, 2026 we meet."),
        ("\u2068Nan\u2069 comes at \u206610:30\u2069.", "Nan comes at 10:30."),
        ("\u200fNan\u200f comes at \u200e10:30\u200e.", "Nan comes at 10:30."),
        ("Read Chapter Ⅳ.", "Read chapter 4."),
        ("Read Chapter XIV.", "Read chapter 14."),
        ("It is 600 km away.", "It is 600km away."),
        ("Call `git gc` now.", "Tell them to call git gc now."),
        ("Mail ADA@example.org.", "Give them ada@example.org."),
        ("See https://example.org/a/.", "Link https://example.org/a"),
        ("Nan’s rails are ready.", "Nan's rails are ready."),
        ("Ask Ilse Brandt.", "See Ilse Brandt's letter."),
        ("The GSAs agree.", "Ask the GSA."),
        ('They are "odd", and a kind of "free choice".', "Say it."),
        ("The API of the CPU is slow.", "Say it."),
    ],
)
def test_the_same_fact_in_another_form_is_supported(draft: str, request_text: str) -> None:
    assert [claim for claim in found(draft, request_text) if claim[0] == UNSUPPORTED] == []


@pytest.mark.parametrize(
    ("draft", "claim"),
    [
        ("It costs ١٬٠٠٠.", "١٬٠٠٠"),  # as it is written
        ("It costs １，０００ now.", "１，０００"),
        ("On April 3 it opens.", "April 3"),
        ("It opens on 5 March.", "5 March"),
        ("It opens on Monday.", "Monday"),
        ("It opens at 9:15.", "9:15"),
        ("It costs $15.", "$15"),
        ("Write to bea@example.org.", "bea@example.org"),
        ("See www.example.org/plan.", "www.example.org/plan"),
        ("It broke in v2.4.1.", "v2.4.1"),
        ("Look at src/main.c.", "src/main.c"),
        ("It is in `make_tea`.", "`make_tea`"),
        ("Ask Ilse Brandt about it.", "Ilse Brandt"),
        ("Look at the Public Data Portal first.", "Public Data Portal"),
        ("It runs on the QTS here.", "QTS"),
        ("The EDK2 is old.", "EDK2"),
        ('See "https://example.org/blob" there.', "https://example.org/blob"),
        ('It is in "src/main.c" now.', "src/main.c"),
        ("It is Ilse's.", "Ilse"),
        ("They call it “the long wait”.", "“the long wait”"),
        ("Wir öffnen am 5. April.", "5. April"),
        ("On ouvre le 5 avril.", "5 avril"),
        ("Abrimos el 5 de abril.", "5 de abril"),
    ],
)
def test_each_kind_of_fact_is_found(draft: str, claim: str) -> None:
    assert (UNSUPPORTED, claim) in found(draft, "Say it.")


@pytest.mark.parametrize(
    "promise",
    [
        "I'll bring the rails.",
        "We will be there at the start.",
        "I'm happy to take it on.",
        "I accept.",
        "Count me in!",
        "Ich schicke dir die Liste.",
        "Je vous enverrai la liste.",
        "Te enviaré la lista.",
        "Vou mandar a lista.",
        "Ti manderò la lista.",
        "Ik stuur de lijst.",
    ],
)
def test_promises_in_seven_languages(promise: str) -> None:
    assert [kind for kind, _ in found(promise, "Answer.")] == [COMMITMENT]


@pytest.mark.parametrize(
    "sentence", ["You will see.", "It will rain.", "We'll see.", "I'm happy to hear that.", "She will send it."]
)
def test_what_binds_nobody_is_no_commitment(sentence: str) -> None:
    assert found(sentence, "Answer.") == []


@pytest.mark.parametrize(
    ("draft", "request_text", "sample", "kinds"),
    [
        ("https://example.org/a", "https://example.org/a", "", []),
        ("", "https://example.org/a", "", [DROPPED]),
        (RAILS, RAILS, f"> {RAILS}\nDone.", []),  # a sample that holds the request
        ("See you on 03/04.", "We meet on 3 April.", "", []),  # either way to read it
        ("See you on 03/04.", "We meet on March 4.", "", []),
        ("\u202eבפגישה ב-10:30\u202c", "Say when.", "", [UNSUPPORTED]),
        ("- item\n1. one\n2. two", "List them.", "", []),
        ("", "", "", []),
    ],
)
def test_odd_texts(draft: str, request_text: str, sample: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in found(draft, request_text, sample)] == kinds


PIECES = (
    *(
        "4",
        " ",
        "March",
        "märz",
        "ſept",
        "of",
        "the fourth",
        "/",
        "-",
        ".",
        "3",
        "2026",
        "年",
        "月",
        "日",
        "1er",
        "mars",
    ),
    *(
        "I",
        "XIV",
        "€",
        "1,000",
        "`",
        '"',
        "“",
        "#",
        "--",
        "a_b",
        "()",
        "@",
        "http://",
        "am",
        "h",
        "Uhr",
        "\n",
        "É",
        "'",
    ),
    *("ß", "İ", "lunes", "s", "(", ":", "O(n)", "v1.2.3", "٣", "１２", "segunda-feira", "may", "Dec", "dec."),
)


def test_any_text_can_be_read() -> None:
    chance = Random(0)
    for _ in range(3_000):
        text = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 12)))
        found(text, text[::-1], text[1:])


@pytest.mark.parametrize(
    "piece",
    ["a.", "a/", "a-", "a_", ".", "/", "ſ", "A ", '"', "1,", "1'", "1:", "the fourth ", "I will ", "\n ", ".'", "A ’"],
)
def test_claims_take_linear_time(piece: str, grows_linearly: Callable[..., None]) -> None:
    def work(text: str) -> None:
        forget_samples()
        claims(text, "Say it.", [Sample("a", text)])

    grows_linearly(work, piece, 8_000)


def test_a_draft_of_100_000_words_is_read() -> None:
    draft = "The rails of room 12 will be ready, and Ilse has the key to it. " * 7_150
    assert len(draft.split()) > 100_000
    assert {text for _, text in found(draft, RAILS, COATS.text)} >= {"12", "Ilse"}
