"""How a person begins and ends their texts, read from them by rule."""

from __future__ import annotations

import pytest

from pearl.records import Document
from pearl.style.manner.edges import NOTED, RECEIVED, TOLD, UsualEdges, edges_of, request_role, usual_ends

OTTI = "Hello {}, kettle's on.\n\nShort answer: {}.\n\nMind the tide,\nOtti"
NAMES = ("Tomas", "Dev", "Mr Pellow", "Nan", "Runa", "Bea")


def texts(*written: str, **fields: str) -> list[Document]:
    return [Document(f"d{number}", text, float(number), **fields) for number, text in enumerate(written)]  # type: ignore[arg-type]


def to_many(form: str) -> list[Document]:
    return texts(*(form.format(name, f"the rail number {number} is yours") for number, name in enumerate(NAMES)))


def shown(edges: UsualEdges) -> tuple[str | None, ...]:
    found = edges.edges
    return tuple(edge and edge.text for edge in (found.greeting, found.opening, found.sign_off, found.name))


@pytest.mark.parametrize(
    ("form", "before", "after"),
    [
        (OTTI, "Hello Dev, kettle's on.\n\nShort answer:", "Mind the tide,\nOtti"),
        ("{},\n\n{}. Come by.\n\nThanks,\nKay", "Dev,", "Thanks,\nKay"),
        ("{},  {}.\nCome by.\nThanks,\nKay", "Dev,", "Thanks,\nKay"),  # a mail that lost its lines
        ("Hi {} -\n\n{}. Come by.\n\nLiz", "Hi Dev -", "Liz"),
        ("Hi all,\n\n{1} ({0}).\n\nBest regards, Kay Ito", "Hi all,", "Best regards, Kay Ito"),
        ("Lieber {},\n\n{}. Bis dann.\n\nViele Grüße\nJörg", "Lieber Dev,", "Viele Grüße\nJörg"),
        ("Good morning! {0}: {1}. Come.\n\n-- k", "Good morning!", "-- k"),
        ("{0} has it: {1}.", "", ""),
        ("One no.{0} a.b: {1}.", "", ""),  # a mark within a word
        ("Привет, {0}! {1}. Приходи.\n\nОбнимаю,\nЛиза", "Привет, Dev!", "Обнимаю,\nЛиза"),
        ("Item: {0}, {1}.\n\nMore on {0}.", "Item:", ""),  # a post; it names nobody
    ],
)
def test_what_texts_begin_and_end_with(form, before, after):
    edges = edges_of(to_many(form), "Ask Dev for the chains")
    assert (edges.before, edges.after) == (before, after)


def test_each_edge_has_its_share_and_its_texts_the_latest_first():
    edges = edges_of([*to_many(OTTI), *texts("The shed is open.", "So it is.")], "Ask Dev for the chains").edges
    assert edges.greeting is not None
    assert edges.greeting.share.value == 6 / 8
    assert edges.greeting.sources == ("d5", "d4", "d3", "d2", "d1", "d0")


@pytest.mark.parametrize(
    ("request_text", "recipient", "addressee"),
    [
        ("Ask Mr Pellow politely not to remove the rack", None, "Mr Pellow"),
        ("Pellow wants the rack gone; say no", None, "Mr Pellow"),  # as this person addresses him
        ("Decline Dev's invitation", None, "Dev"),
        ("Decline Councillor Baines", None, "Councillor Baines"),
        ("Tell Priya Shah that Saturday moves to ten", None, "Priya"),  # by first name, as they mostly do
        ("Priya Shah asks whether she may come", None, "Priya"),
        ("Priya Shah from the school: may we come?", None, "Priya"),
        ("Priya, our treasurer, asks whether she may come", None, "Priya"),
        ("bitte Herrn Amsel um die Räder", None, "Herrn Amsel"),
        ("Hello Otti, may I have the pump?\n\nThanks,\nMarge Simpson", None, "Marge"),  # who sent it
        ("Say that the pump is free", "Zoe Quill", "Zoe"),
        ("Say that the pump is free", "zoe@example.org", None),
        ("Say no to the invitation on Sunday", None, None),
        ("Write a note about the London train", None, None),
        ("Bay Gas Storage", None, None),  # a subject's capitals say nothing
        ("Remind Otti to buy chalk", None, None),  # the person
        ("告诉他周六改到十点", None, None),
    ],
)
def test_whom_a_request_is_for(request_text, recipient, addressee):
    assert edges_of(to_many(OTTI), request_text, recipient).addressee == addressee


@pytest.mark.parametrize(
    ("form", "before"), [(OTTI, "Hello, kettle's on.\n\nShort answer:"), ("{},\n\n{}. Come.\n\nOtti", "")]
)
def test_a_greeting_of_somebody_unknown_has_no_name(form, before):
    assert edges_of(to_many(form), "Say no to the party").before == before


@pytest.mark.parametrize(
    ("request_text", "role"),
    [
        ("Ask Dev for the chains", NOTED),
        ("Turn down Dev's invitation: I am at my sister's", NOTED),
        ("Bitte Frau Amsel um die Räder", NOTED),
        ("Dis à Marie que je viens", NOTED),
        ("Re: the chains", RECEIVED),
        ("Tomas: may I swap with Bea?", RECEIVED),
        ("Ines Marlow from Saltgate School: may we come?", RECEIVED),
        ("Hi Otti,\n\nmay I come?\n\nTomas", RECEIVED),
        ("> may I come?\n\nsay yes", RECEIVED),
        ("Leila, our treasurer, asks how the coats stand", TOLD),
        ("Mr Pellow of the council desk wants three signs", TOLD),
        ("Leila fragt nach den Jacken", TOLD),
        ("Hello from Calgary!", ""),
        ("a post on chains", ""),
        ("order: twelve chains", ""),
    ],
)
def test_what_a_request_is(request_text, role):
    assert request_role(request_text) == role


def test_what_changed_over_time_is_as_it_is_now():
    edges = edges_of([*to_many(OTTI) * 5, *to_many("Dear {},\n\n{}. Come.\n\nBest,\nO. Brandt") * 4], "Ask Dev for it")
    assert (edges.before, edges.after) == ("Dear Dev,", "Best,\nO. Brandt")


@pytest.mark.parametrize(
    "history",
    [
        [],
        texts("Hello Dev,\n\nyes.\n\nOtti"),
        texts(*(f"-----BEGIN PGP SIGNED MESSAGE-----\n\n{word} it is." for word in "abc")),
        texts(*(f"> Hello Dev,\n> {word}.\n\nNo, {word}." for word in "abc")),
        texts("", " ", "\n"),
    ],
)
def test_too_little_or_a_quoted_greeting_is_no_habit(history):
    edges = edges_of(history, "Ask Dev for the chains")
    assert shown(edges) == (None, None, None, None)


def test_whoever_never_greets_is_known_not_to():
    plain = texts(*(f"the {number} is out again and back on Monday" for number in range(20)))
    edges = edges_of(plain, "Ask Dev")
    assert (edges.greets, edges.signs, edges.before) == (False, False, "")


def test_whoever_signs_otherwise_each_time_has_no_sign_off():
    signed = [f"Hi {name},\n\n{end} is it.\n\n{end}" for name, end in zip(NAMES, "ABCDEF", strict=True)]
    assert shown(edges_of(texts(*signed), "Ask Dev")) == ("Hi Dev,", None, None, None)


def test_how_most_texts_begin_and_end_for_the_voice_card():
    greeting, sign_off = usual_ends([*to_many(OTTI), *texts("No.", "So it is.")]).values()
    assert greeting is not None
    assert sign_off is not None
    assert (greeting["text"], greeting["texts"], greeting["of"]) == ("Hello …, kettle's on. Short answer:", 6, 8)
    assert (sign_off["text"], sign_off["share"]["value"]) == ("Mind the tide, Otti", 0.75)
    assert [example["id"] for example in sign_off["examples"]] == ["d5", "d4", "d3"]
    assert sign_off["examples"][0]["excerpt"].endswith("Mind the tide, Otti")
    assert usual_ends([]) == {"greeting": None, "sign_off": None}


RTL = "مرحبا {}،\n\nالمضخة {} لك.\n\nتحياتي،\nسامي"
LIST = "Hi all,\n\nthe shed {1} is open.\n\nOtti"
QUOTED = ('"Dear Bo," it says, and {1} holds.', "On Monday Bo wrote:\n> Dear Otti,\n> {1}\n\nNo, {1}.")


@pytest.mark.parametrize(
    ("history", "request_text", "recipient", "before", "after"),
    [
        # two people of one name: the recipient's own manner, or the one written to last
        ("two", "Tell Nan yes", "nan@a.example", "Nan, love -", "O."),
        ("two", "Tell Nan yes", "nan@b.example", "Dear Nan,", "Otti Krell"),
        ("Hello {} Ash,\n\n{}.\n\nOtti", "Ask Nan for it", None, "Hello Nan Ash,", "Otti"),
        # a greeting that is a sentence, with a name in it and without
        (
            "Hello {}, hope the tide was kind.\n\n{}.\n\nOtti",
            "Ask Dev",
            None,
            "Hello Dev, hope the tide was kind.",
            "Otti",
        ),
        ("Good to hear from you, {}.\n\n{}.\n\nOtti", "Ask Dev for it", None, "", "Otti"),
        ("See you all on Sunday!\n\n{1}.\n\nOtti", "Ask Dev for it", None, "See you all on Sunday!", "Otti"),
        # another script, and names that are written from right to left
        (OTTI, "Ask Иван for the pump", None, "Hello Иван, kettle's on.\n\nShort answer:", "Mind the tide,\nOtti"),
        (OTTI, "Say yes", "李明", "Hello 李明, kettle's on.\n\nShort answer:", "Mind the tide,\nOtti"),
        (OTTI, "Say yes", "\u200fخالد", "Hello خالد, kettle's on.\n\nShort answer:", "Mind the tide,\nOtti"),
        (RTL, "اطلب من Dev المضخة", "خالد", "مرحبا خالد،", "تحياتي،\nسامي"),
        ("list", "Tell them that Bea is ill", "crew@lists.example", "Hi all,", "Otti"),
        ("each", "Say yes", "Nan@each.example", "Hi Nan,", "xx O"),
        ("each", "Say yes", "Dev@each.example", "Hi Dev,", "Yours,\nO. Krell"),
        *((quoted, "Ask Dev for it", None, "", "") for quoted in QUOTED),
    ],
)
def test_odd_histories(history, request_text, recipient, before, after):
    def three(form: str, to: str) -> list[Document]:
        return texts(*(form.format(f"rail {word} it is") for word in "abc"), recipient=to)

    histories = {
        "two": three("Nan, love -\n\n{}.\n\nO.", "nan@a.example")
        + three("Dear Nan,\n\n{}.\n\nOtti Krell", "nan@b.example"),
        "list": texts(*(LIST.format("", word) for word in "abc"), recipient="crew@lists.example") + to_many(OTTI),
        "each": three("Hi Nan,\n\n{}.\n\nxx O", "nan@each.example")
        + three("Hi Dev,\n\n{}.\n\nYours,\nO. Krell", "dev@each.example"),
    }
    documents = histories.get(history) or to_many(history)
    edges = edges_of(documents, request_text, recipient)
    assert (edges.before, edges.after) == (before, after)
    assert edges_of(documents[:2], request_text, recipient).before == ""  # two texts are no habit
