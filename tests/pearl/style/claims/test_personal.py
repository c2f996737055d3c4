from __future__ import annotations

import pytest

from pearl.style.claims.personal import ADVICE, Mask, Restorer
from pearl.text.templates import load_template, template_names

LETTER = """Hi Ada, could you call Ben Lovelace at +44 20 7946 0958 or ada@example.org? Tomas's kettle is on.

Best regards,
Otti"""


def restored(mask: Mask, *pieces: str) -> str:
    restorer = Restorer(mask)
    return "".join([*map(restorer.feed, pieces), restorer.feed("", last=True)])


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Hi Ada, it is on.", "Hi NAME_1, it is on."),
        ("Ask Ada Lovelace or Ada.", "Ask NAME_1 NAME_2 or NAME_1."),
        ("We saw Tomas's bike and Tomas’s hat.", "We saw NAME_1's bike and NAME_1’s hat."),
        ("Ada is here. I saw Ada.", "NAME_1 is here. I saw NAME_1."),
        ("Thanks!\nOtti", "Thanks!\nNAME_1"),
        ("We met ADA and Ada.", "We met NAME_1 and NAME_2."),
        ('He said "ask Ada" twice.', 'He said "ask NAME_1" twice.'),
        ("Write to ada@example.org, please.", "Write to MAIL_1, please."),
        ("Call +44 20 7946 0958.", "Call NUMBER_1."),
        ("Call (030) 123-4567 or 0171/1234567.", "Call NUMBER_1 or NUMBER_2."),
        ("It is DE89 3704 0044 0532 0130 00.", "It is NUMBER_1."),
        ("Card 4111 1111 1111 1111 it is.", "Card NUMBER_1 it is."),
        ("See https://example.org/u/ada?x=1 there.", "See LINK_1 there."),
        ("Ask @ada_l there.", "Ask NAME_1 there."),
        (
            "Liebe Anna, der Kühlschrank im Keller ist wieder ganz.",
            "Liebe NAME_1, der Kühlschrank im Keller ist wieder ganz.",
        ),
        (
            "Das habe ich Herrn Dr. Schmidt gestern schon erzählt.",
            "Das habe ich Herrn Dr. NAME_1 gestern schon erzählt.",
        ),
    ],
)
def test_what_is_hidden(text, hidden):
    mask = Mask([text])
    assert mask.hidden == [hidden]
    assert restored(mask, hidden) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Kettle's on. The meeting moves to Friday, 4 March 2026, at 10:30.",
        "It costs 12.50 or 1,250,000 in 2026-11-27 10:30.",
        "See https://example.org and https://docs.example.org/ there.",
        "Answer in German, with Markdown and JSON.",
        "I'm here, and I'll stay; NASA too.",
        "NAME_1 and MAIL_7 are literal.",
        "ask ada about it",
        "\0\ud7ff NAME_ NAME_x",
    ],
)
def test_what_stays(text):
    mask = Mask([text])
    assert (mask.hidden, bool(mask)) == ([text], False)
    assert restored(mask, text) == text


@pytest.mark.parametrize("name", template_names())
def test_the_words_of_templates_stay(name):
    template = load_template(name)
    for text in (template.task, template.guidance):
        assert Mask([text]).hidden == [text]


def test_the_last_message_has_the_lowest_numbers():
    assert Mask(["I met Ben.", "I met Cy and Ada.", "Tell Ada."]).hidden == [
        "I met NAME_3.",
        "I met NAME_2 and NAME_1.",
        "Tell NAME_1.",
    ]


def test_one_text_has_one_placeholder_in_all_messages():
    mask = Mask(["Tell Ada that Ben is ill.", "Ada knows Ben and Cleo. NAME_3 is literal."])
    assert mask.hidden == ["Tell NAME_1 that NAME_2 is ill.", "NAME_1 knows NAME_2 and NAME_4. NAME_3 is literal."]
    assert restored(mask, "NAME_3 and NAME_4") == "NAME_3 and Cleo"


@pytest.mark.parametrize("literal", ["NUMBER_1", "number_1", "NUMBER\\_1"])
def test_what_looks_like_a_placeholder_means_itself_however_it_is_written(literal):
    text = f"Your code is {literal}. Call +44 20 7946 0958."
    mask = Mask([text])
    assert mask.hidden == [f"Your code is {literal}. Call NUMBER_2."]
    assert restored(mask, mask.hidden[0]) == text


@pytest.mark.parametrize("width", [1, 2, 3, 5, 7, 11, 1000])
def test_an_answer_in_pieces(width):
    mask = Mask([LETTER])
    (hidden,) = mask.hidden
    for text in (hidden, hidden + " NAME_1", "NAME_1", "N", "NAM NAMES NAME_ NAME_1NAME_2", "MAIL_1.NUMBER_1"):
        whole = restored(mask, text)
        assert restored(mask, *(text[at : at + width] for at in range(0, len(text), width))) == whole
    assert restored(mask, hidden) == LETTER


def test_no_more_is_held_than_may_be_a_placeholder():
    restorer = Restorer(Mask(["Tell Ada."]))
    assert [restorer.feed(piece) for piece in ("Hi N", "o, NAM", "E", "_1", ", it")] == [
        "Hi ",
        "No, ",
        "",
        "",
        "Ada, it",
    ]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("name_1 and Name_1", "Ada and Ada"),
        ("NAME\\_1", "Ada"),
        ("NAME_1s, NAME_1's, *NAME_1*", "Adas, Ada's, *Ada*"),
        (
            "NAME_9, NAME_11, NAME_01, NAME 1, NAME-1, RENAME_1, NAMES_1",
            "NAME_9, NAME_11, NAME_01, NAME 1, NAME-1, RENAME_1, NAMES_1",
        ),
    ],
)
def test_changed_placeholders_mean_the_same_or_stay_visible(answer, text):
    assert restored(Mask(["Tell Ada."]), answer) == text


def test_the_advice_hides_nothing():
    assert "NAME_1" in ADVICE


@pytest.mark.parametrize(
    ("piece", "times"), [("1 ", 20_000), ("@a", 20_000), ("NAME_", 8_000), ("Ada\n", 8_000), ("DE89 ", 8_000)]
)
def test_hostile_texts_take_linear_time(piece, times, grows_linearly):
    def hide(text):
        mask = Mask([text + "x"])
        assert restored(mask, *mask.hidden[0]) == text + "x"

    grows_linearly(hide, piece, times)
