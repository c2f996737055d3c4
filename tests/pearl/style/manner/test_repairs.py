"""Strike and Put in on letters: whole sentences and clauses with their marks, and the sign-off left alone."""

from __future__ import annotations

import pytest

from pearl.style.manner.ends import body_end
from pearl.style.manner.repairs import Repair, put_in, struck

SHORT = "Short answer: yes, swap away. You take Saturday the 24th, ten sharp; I moved the pegs (yours is blue)."
LETTER = f"""Hello Tomas, kettle's on.

{SHORT}

Two small asks:
1) Tell Pim yourself. He reads nothing.
2) Bring back the cone spanners, and leave the pump where it is...

I owe Bea a biscuit!

Mind the tide,
Otti"""


def applied(text: str, repair: Repair) -> str:
    return text[: repair.start] + repair.by + text[repair.end :]


@pytest.mark.parametrize(
    ("claim", "was", "now"),
    [
        ("kettle's on", " kettle's on.\n\nShort", "\n\nShort"),  # the greeting stays
        ("yes, swap away", "Short answer: yes, swap away. You", "You"),
        ("ten sharp", ", ten sharp;", ";"),
        ("the 24th", "You take Saturday the 24th, ten sharp; I moved", "I moved"),
        ("moved the pegs", "; I moved the pegs (yours is blue).", "."),
        ("is blue", " (yours is blue)", ""),
        ("Tell Pim", "1) Tell Pim yourself. He", "1) He"),
        ("He reads", " He reads nothing.", ""),
        ("where it is..", ", and leave the pump where it is...", "..."),
        (
            "Bring back the cone spanners, and leave",
            "\n2) Bring back the cone spanners, and leave the pump where it is...",
            "",
        ),
        ("a biscuit!\n\nMind the tide", "I owe Bea a biscuit!\n\nMind", "Mind"),  # no further than the sign-off
        ("Mind the tide", "Mind the tide,\nOtti", "Otti"),
    ],
)
def test_a_strike_takes_the_sentence_or_clause_with_its_mark(claim: str, was: str, now: str) -> None:
    start = LETTER.index(claim)
    repair = struck(LETTER, start, start + len(claim), body_end(LETTER))
    assert applied(LETTER, repair) == LETTER.replace(was, now)
    mail = LETTER.replace("\n", "\r\n")
    start = mail.index(claim.replace("\n", "\r\n"))
    repair = struck(mail, start, start + len(claim.replace("\n", "\r\n")), body_end(mail))
    assert applied(mail, repair).split() == LETTER.replace(was, now).split()


@pytest.mark.parametrize(
    ("text", "claim", "left"),
    [
        ("see you there\nat 7:45\nbring rope", "7:45", "see you there\nbring rope"),  # lines, as in a chat
        ("Pim pays 40 pounds, and Bea takes it.", "40 pounds", "Bea takes it."),
        ("Bring pumps, tubes and rope.", "pumps", ""),  # nothing that could stand alone would be left
        ("Only this.", "Only this", ""),
        (
            "We meet at ten. The pump - the red one - is here. So?",
            "the red one",
            "We meet at ten. The pump - is here. So?",
        ),
    ],
)
def test_strikes_in_other_texts(text: str, claim: str, left: str) -> None:
    start = text.index(claim)
    assert applied(text, struck(text, start, start + len(claim), len(text))) == left


@pytest.mark.parametrize(
    ("text", "words", "asked", "has"),
    [
        (
            LETTER,
            "4 March",
            "Say that the cone spanners must be here by 4 March.",
            "Bring back the cone spanners by 4 March, and leave",
        ),
        (
            LETTER,
            "4 March",
            "The harbour closes on 4 March",
            "I owe Bea a biscuit! On 4 March.\n\nMind the tide,\nOtti",
        ),
        ("Hello Nan,\n\nCheers,\nOtti", "4 March", "Come on 4 March", "Hello Nan,\n\nOn 4 March.\n\nCheers,\nOtti"),
        ("on my way", "7:45", "be there at 7:45", "on my way at 7:45"),
        ("The rope is here.", "12", "Can you bring 12 inner tubes to the slip?", "The rope is here. 12 inner tubes."),
        ("I bring the tubes at 7, and Pim pays.", "12", "Bring 12 inner tubes", "I bring the 12 inner tubes at 7, and"),
        (
            "I bring the pumps at 7, and Pim pays.",
            "4 March",
            "Bring pumps on 4 March",
            "at 7 on 4 March, and Pim pays.",
        ),
        ("1) Rope", "Tubes", "Bring Tubes", "1) Rope\n\nTubes."),
        ("", "Bea", "Ask Bea", "Bea."),
    ],
)
def test_what_is_put_in_stands_where_it_belongs(text: str, words: str, asked: str, has: str) -> None:
    assert has in applied(text, put_in(text, words, asked, body_end(text)))
