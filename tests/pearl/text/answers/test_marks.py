from __future__ import annotations

import random

import pytest

from pearl.text.answers.marks import MarkFilter, unfenced
from tests.pieces import split

DEAR = "Dear Bo,\n\nyes, Saturday is fine.\n\nOtti"
CODE = "Run this first:\n\n```bash\nmake setup\n```\n\nThen open the page."
LIST = "# News\n\n- a wheel\n- a bell"

# the reply of a model, and the draft in it
REPLIES = {
    # the asked form, and near to it
    "as asked": (f"<document>\n{DEAR}\n</document>", DEAR),
    "on one line": ("<document>Dear Bo.</document>", "Dear Bo."),
    "no closing mark": (f"<document>\n{DEAR}", DEAR),
    "no opening mark": (f"{DEAR}\n</document>", DEAR),
    "no marks": (DEAR, DEAR),
    "blanks around": (f" \n\n{DEAR}\n \n", DEAR),
    "wide blanks": ("<document>\u2003\n wide blanks </document>", "wide blanks"),
    "capitals": (f"<DOCUMENT>\n{DEAR}\n</Document>", DEAR),
    "an attribute": (f'<document type="message">\n{DEAR}\n</document>', DEAR),
    "the mark of a draft": (f"<draft>\n{DEAR}\n</draft>", DEAR),
    "an answer's mark": (f"<answer>\n{DEAR}\n</answer>\nDone.", DEAR),
    "an output's mark": (f"<output>{DEAR}</output>", DEAR),
    "marks of two kinds": (f"<document>\n<draft>\n{DEAR}\n</draft>\n</document>", DEAR),
    "closed by the wrong mark": (f"<document>\n{DEAR}\n</request>", DEAR),
    "the request's mark at the end": (f"{DEAR}\n</request>", DEAR),
    "a mark cut in half": (f"<document>\n{DEAR}\n</docum", DEAR),
    "a chat format's mark": (f"{DEAR}<|im_end|>\n<|im_start|>user\nThanks!", DEAR),
    "another chat format's mark": (f"<document>\n{DEAR}\n<end_of_turn>", DEAR),
    # repeated
    "opened twice": (f"<document>\n<document>\n{DEAR}\n</document>\n</document>", DEAR),
    "two documents": (f"<document>\n{DEAR}\n</document>\n<document>\nDear Pim\n</document>", DEAR),
    "opened again without closing": (f"<document>\n{DEAR}\n<document>\nDear Pim\n</document>", DEAR),
    "an empty one first": (f"<document>\n</document>\n<document>\n{DEAR}\n</document>", DEAR),
    "closed before it opens": (f"</document>\n<document>\n{DEAR}\n</document>", DEAR),
    "the conversation goes on": (f"<document>\n{DEAR}\n\n<request>\nWhat about Sunday?\n</request>", DEAR),
    "the request first": (f"<request>\nAsk Bo.\n</request>\n<document>\n{DEAR}\n</document>", DEAR),
    "the request first, no marks after": (f"<request>\nAsk Bo.\n</request>\n{DEAR}", DEAR),
    "the request's marks alone around it": (f"<request>\n{DEAR}\n</request>", DEAR),
    "marks in mid-sentence": (
        "<document>\nFive lines between <document> marks, no more.\n</document>",
        "Five lines between  marks, no more.",
    ),
    # a fence at the end
    "a fence that nothing opened": (f"<document>\n{DEAR}\n```\n</document>", DEAR),
    "a fence that nothing opened, no marks": (f"{DEAR}\n\n  ```  \n\n", DEAR),
    "a fence that nothing opened, behind a block": (f"<document>\n{CODE}\n```", CODE),
    "a fence that closes a block": ("Run\n```bash\nmake\n```", "Run\n```bash\nmake\n```"),
    "a fence that closes a block opened twice": (
        "Run\n```bash\nmake\n```sh\nls\n```",
        "Run\n```bash\nmake\n```sh\nls\n```",
    ),
    "a fence that closes one around another": ("So\n````\n```\nmake\n````", "So\n````\n```\nmake\n````"),
    "an empty block": ("Nothing:\n```\n\n```", "Nothing:\n```\n\n```"),
    "a block that was cut off": ("Run\n```\nmake", "Run\n```\nmake"),
    "waves at the end": (f"{DEAR}\n~~~", f"{DEAR}\n~~~"),
    # a model's words around it
    "a preamble to a tweet": (f"Sure! Here's a tweet:\n\n{DEAR}", DEAR),
    "a preamble to a summary": (f"Certainly! Here is a short summary:\n\n{DEAR}", DEAR),
    "a preamble": (f"Sure! Here is the draft:\n<document>\n{DEAR}\n</document>", DEAR),
    "a preamble on the same line": (f"Here it is: <document>{DEAR}</document>", DEAR),
    "a preamble of two paragraphs": (
        f"Certainly!\n\nI've kept the author's greeting.\n\n<document>\n{DEAR}\n</document>",
        DEAR,
    ),
    "an odd preamble": (f"A reply in that manner follows below.\n\n<document>\n{DEAR}\n</document>", DEAR),
    "a closing after the mark": (f"<document>\n{DEAR}\n</document>\n\nLet me know if you'd like changes!", DEAR),
    "both without marks": (f"Sure! Here's a draft:\n\n{DEAR}\n\nLet me know if you'd like any changes.", DEAR),
    "a preamble in bold": (f"**Here's the revised message:**\n\n{DEAR}", DEAR),
    "in the author's style": (f"Here's a message in the author's style:\n\n{DEAR}", DEAR),
    "a rule above and below": (
        f"Of course! Here is the message:\n\n---\n\n{DEAR}\n\n---\n\nWould you like me to make it shorter?",
        DEAR,
    ),
    "a note on what was done": (
        f"Here's a draft:\n\n{DEAR}\n\nI've kept the tone brief.\n\nLet me know if you want a shorter version.",
        DEAR,
    ),
    "a label": (f"Draft:\n\n{DEAR}", DEAR),
    "a label in bold": (f"**Draft:**\n{DEAR}", DEAR),
    "the mark of revision": (f"EDITED DRAFT\n{DEAR}", DEAR),
    "the mark of revision and ours": (f"## EDITED DRAFT\n<document>\n{DEAR}\n</document>", DEAR),
    # fences
    "a fence": (f"```\n{DEAR}\n```", DEAR),
    "a fence of text": (f"```text\n{DEAR}\n```", DEAR),
    "a fence of Markdown": (f"```markdown\n{LIST}\n```", LIST),
    "a fence of Markdown with code inside": (f"```markdown\n{CODE}\n```", CODE),
    "a fence of Markdown with a plain fence inside": (
        "```md\nA:\n\n```\ncode\n```\nend\n```",
        "A:\n\n```\ncode\n```\nend",
    ),
    "a fence of tildes": (f"~~~\n{DEAR}\n~~~", DEAR),
    "a longer fence": (f"````markdown\n{CODE}\n````\nDone.", CODE),
    "a fence and words": (f"Sure! Here's the draft:\n\n```\n{DEAR}\n```\n\nFeel free to adjust the tone.", DEAR),
    "a bare fence and a closing": (f"```\n{DEAR}\n```\nLet me know if you want any changes.", DEAR),
    "a fence that is not closed": (f"```\n{DEAR}", DEAR),
    "a fence around the marks": (f"```\n<document>\n{DEAR}\n</document>\n```", DEAR),
    "a fence of XML around the marks": (f"```xml\n<document>\n{DEAR}\n</document>\n```", DEAR),
    "a fence within the marks": (f"<document>\n```\n{DEAR}\n```\n</document>", DEAR),
    "a fence of text within the marks": (f"<document>\n```text\n{DEAR}\n```\n</document>", DEAR),
    # reasoning
    "reasoning": (f"<think>\nBo wants Saturday. A <document> then.\n</think>\n\n<document>\n{DEAR}\n</document>", DEAR),
    "reasoning, no marks": (f"<think>\nBo wants Saturday.\n</think>\n\n{DEAR}", DEAR),
    "empty reasoning": (f"<think>\n\n</think>\n\n{DEAR}", DEAR),
    "thinking": (f"<thinking>Bo.</thinking>{DEAR}", DEAR),
    "reasoning by that name": (f"<reasoning>\nBo.\n</reasoning>\n<answer>\n{DEAR}\n</answer>", DEAR),
    "closed by another name": (f"<think>\nBo.\n</thinking>\n{DEAR}", DEAR),
    "nested": (f"<think>\nBo.\n<think>\nPim.\n</think>\nBo.\n</think>\n{DEAR}", DEAR),
    "twice": (f"<think>\nBo.\n</think>\n<think>\nPim.\n</think>\n{DEAR}", DEAR),
    "speaking of its mark": (f"<think>\nI close <think> with a mark.\n</think>\n{DEAR}", DEAR),
    "with a prefix": (f"<seed:think>Bo.</seed:think>{DEAR}", DEAR),
    "triangles": (f"◁think▷Bo wants Saturday.◁/think▷{DEAR}", DEAR),
    "brackets": (f"[THINK]Bo wants Saturday.[/THINK]{DEAR}", DEAR),
    "control tokens": (f"<|begin_of_thought|>\nBo.\n<|end_of_thought|>\n\n{DEAR}", DEAR),
    "channels": (
        f"<|channel|>analysis<|message|>Bo.<|end|><|start|>assistant<|channel|>final<|message|>{DEAR}<|return|>",
        DEAR,
    ),
    "details": (f'<details type="reasoning" done="true">\nBo.\n</details>\n{DEAR}', DEAR),
    "only the closing mark": (f"Okay, the user wants to answer Bo.\nI keep it short.\n</think>\n\n{DEAR}", DEAR),
    "only the closing mark, and no usual beginning": (
        f"Bo asks about Saturday. Short, then.\n</think>\n\n{DEAR}",
        DEAR,
    ),
    "within the marks": (f"<document>\n<think>\nBo.\n</think>\n{DEAR}\n</document>", DEAR),
    "in the middle": ("Dear Bo,\n<think>\nwhich day?\n</think>\nSaturday.", "Dear Bo,\n\nSaturday."),
    "never closed": ("<think>\nBo wants Saturday, so I should", ""),
    "never closed, with a draft": (f"<think>\nBo wants Saturday.\n<document>\n{DEAR}\n</document>", DEAR),
    # what belongs to the text
    "code in the text": (CODE, CODE),
    "code in the marked text": (f"<document>\n{CODE}\n</document>", CODE),
    "code first": ("```python\nx = 1\n```\n\nThat is all.", "```python\nx = 1\n```\n\nThat is all."),
    "plain code first": ("```\nx = 1\n```\n\nThat is all it takes.", "```\nx = 1\n```\n\nThat is all it takes."),
    "code that ends the text": ("It takes one line:\n\n```\nx = 1\n```", "It takes one line:\n\n```\nx = 1\n```"),
    "a text on reasoning": ("Models write `<think>` first.\n\nThen </think> ends it.",) * 2,
    "a block of code on reasoning": ("So:\n\n```\n<think>\nhm\n</think>\n```\n\nOdd.",) * 2,
    "a block of code with marks": ("So:\n\n```xml\n<document>a\n```\n\nOdd.",) * 2,
    "other markup": ("a < b, <b>bold</b> and <documents> or <draft-horse>; I <3 it <",) * 2,
    "a subject": (f"Subject: Saturday\n\n{DEAR}",) * 2,
    "an ordinary beginning": ("Sure, Saturday is fine.\n\nOtti",) * 2,
    "a beginning with a colon": ("Here is what the shed needs:\n\n- a bell",) * 2,
    "a plan": ("I need to cancel Saturday.\n\nSorry, Bo.",) * 2,
    "an ordinary closing": ("Dear Bo,\n\nthe draft rota is below.\n\nLet me know if you'd like any changes.\n\nOtti",)
    * 2,
    "an ordinary closing in marks": (
        "<document>\nHere's the draft:\n\n- a bell\n\nLet me know if you want changes.\n</document>",
        "Here's the draft:\n\n- a bell\n\nLet me know if you want changes.",
    ),
    "rules in a post": ("One.\n\n---\n\nTwo.\n\n---\n\nThree.",) * 2,
    "odd letters": ("<document>héé </document> ☃", "héé"),
    "text after half a mark": ("<docu and more",) * 2,
    "lines far apart": ("one\n\n\ntwo   \n  \n</document>\n", "one\n\n\ntwo"),
    # nothing
    "nothing": ("", ""),
    "blanks": ("   \n", ""),
    "marks alone": ("<document>\n\n</document>", ""),
    "marks alone, of all kinds": ("<request></request><document></document></draft>", ""),
    "a closing mark alone": ("</document>", ""),
    "reasoning alone": ("<think>\nHm.\n</think>\n", ""),
    "an empty document and an excuse": ("<document></document>\nI cannot write this.", ""),
    "a fence alone": ("```\n```", ""),
}


@pytest.mark.parametrize("name", REPLIES)
def test_the_draft_in_a_reply(name):
    reply, draft = REPLIES[name]
    assert unfenced(reply) == draft


@pytest.mark.parametrize("name", REPLIES)
def test_any_split_gives_what_the_whole_gives(name):
    reply, draft = REPLIES[name]
    chance = random.Random(name)
    for pieces in [list(reply), *(split(reply, chance) for _ in range(200))]:
        marks = MarkFilter()
        text = "".join(map(marks.feed, pieces)) + marks.finish()
        if marks.leaked:  # the mark came when the text was out: next time it is waited for
            marks = MarkFilter(hold_reasoning=True)
            text = "".join(map(marks.feed, pieces)) + marks.finish()
        assert text == draft


def test_text_is_held_back_only_while_it_may_be_a_mark_or_blanks_at_the_end():
    marks = MarkFilter()
    assert marks.feed("<docu") == ""
    assert marks.feed("ment>One ") == "One"
    assert marks.feed("two <") == " two"
    assert marks.feed("b") == " <b"
    assert marks.feed(" </document>") == ""
    assert marks.feed("more") == ""
    assert marks.finish() == ""


def test_without_marks_no_more_than_the_first_paragraph_waits():
    marks = MarkFilter()
    assert marks.feed("Dear Bo, about the Saturday that Tomas wants to swap with you") == ""
    assert marks.feed(".\n\nYes") == "Dear Bo, about the Saturday that Tomas wants to swap with you.\n\nYes"
    assert marks.feed(" and no") == " and no"


@pytest.mark.parametrize("mark", ["<draft>", "<think>", "</details>"])
def test_a_long_line_with_marks_in_mid_sentence_takes_linear_time(mark, grows_linearly):
    grows_linearly(unfenced, f"So it goes {mark} ", 6000)


def test_many_short_paragraphs_take_linear_time(grows_linearly):
    grows_linearly(lambda text: unfenced(f"Sure, here is the draft:\n\n{text}"), "a\n\n", 16_000)


@pytest.mark.parametrize("begins", ["", "<document>\nDear Bo.\n", "```text\nDear Bo.\n"])
@pytest.mark.parametrize("repeated", [" ", "~", "a "])
def test_a_line_that_is_nearly_a_fence_takes_linear_time(begins, repeated, grows_linearly):
    grows_linearly(lambda text: unfenced(f"{begins}~~~{text}`\n"), repeated, 8000)


@pytest.mark.parametrize(
    ("begins", "repeated"),
    [
        ("Sure, here is the draft:\n\nDear Bo.\n\n", "Let me know if you want changes.\n\n"),
        ("", "<document>\n\n"),
        ("Okay, the user wants ", "something else, "),
        ("<document>\nDear Bo.", " "),
    ],
)
def test_what_a_model_repeats_to_its_last_token_takes_linear_time(begins, repeated, grows_linearly):
    def stream(text: str) -> None:
        marks = MarkFilter()
        for place in range(0, len(text), 4):
            marks.feed(text[place : place + 4])
        marks.finish()

    grows_linearly(lambda text: stream(begins + text), repeated, 80_000 // len(repeated))
