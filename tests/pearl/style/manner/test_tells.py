from __future__ import annotations

import pytest

from pearl.style.manner.tells import NONE, Tells

LETTER = """Dear Team,

I hope this email finds you well. I wanted to reach out to share a comprehensive update on the costume rails. Thank you
for your patience and understanding! Please don't hesitate to contact me if you have any further questions.

Looking forward to hearing from you."""
POST = """In today's fast-paced world, gardens are a testament to patience. Furthermore, they foster a sense of
community, ensuring that neighbours come together."""
GERMAN = """Ich hoffe, diese Nachricht erreicht Sie wohlauf. Vielen Dank für Ihre Geduld. Bitte zögern Sie nicht, sich
zu melden. Bei weiteren Fragen stehen wir Ihnen jederzeit gerne zur Verfügung."""
FRENCH = """J'espère que vous allez bien. Je tenais à vous remercier. N'hésitez pas à m'écrire, je reste à votre entière
disposition."""
SPANISH = """Espero que este mensaje te encuentre bien. Es importante destacar que la fecha se mantiene. No dudes en
escribirme, quedo atenta a tus comentarios."""
FORMS = """- **Rails:** fifteen are up.
- **Coats:** leverage the old ones.
### Next
### Later
Gloves—all of them—are a journey."""


@pytest.mark.parametrize("text", [LETTER, POST, GERMAN, FRENCH, SPANISH, FORMS, LETTER.replace("'", "’").upper()])
def test_many_tells_are_too_many_for_anybody(text: str) -> None:
    tells = Tells.of(text)
    assert tells.count >= 3
    assert not tells.of_conversation
    assert tells.exceed(NONE)


@pytest.mark.parametrize(
    "text",
    [
        "Sure! Here's a polite reply you could send:\n\nHi Mark, I can't come.",
        "Natürlich! Hier ist ein höflicher Entwurf für deine Absage:\n\nHallo Peter, ich komme nicht.",
        "Dear Nan,\n\nthe rails are up.\n\nBest,\n[Your Name]",
        "As an AI language model, I cannot come on Friday.",
        "Would you like me to make it more formal? The rails are up.",
    ],
)
def test_one_sentence_of_a_conversation_with_an_assistant_is_enough(text: str) -> None:
    assert Tells.of(text).exceed(NONE)
    assert not Tells.of(text).exceed(Tells.of(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0",
        "Kettle's on. See you at ten.",
        "Sure, here's the code: it whistles.",
        "Hope this helps! Feel free to ask. Best practices say otherwise, additionally, though."
        + " The rails are up." * 60,
        "[link] [1] [x](y) [Name]",
        "delve delve delve delve delve",
        "- one\n- two\n- three\n\nSuch lists — with dashes – are everybody's.",
        "お元気ですか。明日の会議は十時からです。",
        "\u202eאבג\u202c furthermore",
        "x" * 100_000,
        "not just " * 20_000,
    ],
)
def test_what_people_write(text: str) -> None:
    assert not Tells.of(text).exceed(NONE)


def test_who_always_wrote_so_may_go_on() -> None:
    own = sum((Tells.of(f"{LETTER} The rails are up." * 2) for _ in range(20)), NONE)
    assert Tells.of(LETTER).exceed(NONE)
    assert not Tells.of(LETTER).exceed(own)
    assert Tells.of(LETTER).exceed(Tells(words=20_000, count=60))


def test_the_chance_of_as_many_is_that_of_a_poisson_distribution() -> None:
    # usual: .5 tells per 100 words, so .5 expected in 100; P(3 or more) = 1 - e^-.5 (1 + .5 + .125) = .0144
    assert not Tells(words=100, count=3).exceed(NONE)
    assert Tells(words=80, count=3).exceed(NONE)  # .4 expected: .0079
    assert Tells(words=100, count=4).exceed(NONE)  # .0018
    assert Tells(words=25, count=2).exceed(NONE)  # .125 expected: .0072
    assert not Tells(words=1, count=1).exceed(NONE)
    assert not Tells(words=1_000_000, count=30).exceed(NONE)
