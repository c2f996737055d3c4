"""Voices, the likeness of a text and the blind test, in a real headless Chromium."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pearl.errors import ChatError
from pearl.records import Document
from tests.browser import Browser, go

HOSTILE = "<img src=x onerror='window.stolen = 1'><script>window.stolen = 1</script>"
WORDS = "the kettle is on and the tide turns at four so bring the long ropes along"


def answers(number: int) -> tuple[Document, ...]:
    return tuple(
        Document(f"d{place}", f"Own {place}: {WORDS} {HOSTILE}", 1000.0 + place, f"What of rope {place}? {HOSTILE}")
        for place in range(number)
    )


def fill(tab: Browser, selector: str, text: str) -> None:
    tab.click(selector)
    tab.run("document.activeElement.select()")
    tab.type(text)


def status(tab: Browser, start: str) -> None:
    tab.until(f"document.querySelector('#status').textContent.startsWith({start!r})")


def offered(tab: Browser, select: str) -> list[str]:
    listed: list[str] = tab.run(f"[...document.querySelector('{select}').options].map((option) => option.value)")
    return listed


def test_a_voice_is_made_changed_and_deleted(signed_in: Any, chromium: Browser) -> None:
    tab, served = chromium, signed_in("A draft.")
    ann = served.house.as_user("ann")
    go(tab, "voices")
    tab.until("document.querySelectorAll('#voices-list > li').length === 1")
    assert "2 texts" in tab.text()
    fill(tab, "#voice-name", "a/b <b>")
    fill(tab, "#voice-new textarea", "Sign as Otti.")
    tab.click("#voice-new button")
    status(tab, "Made.")
    voices = {voice["name"]: voice for voice in ann.get("/v1/voices").json()["data"]}
    assert (voices["a/b <b>"]["instructions"], voices["a/b <b>"]["k"]) == ("Sign as Otti.", None)
    for select in ("#voice", "#card-voice", "#history [name=voice]", "#blind-voice"):
        assert offered(tab, select) == ["", "a/b <b>", "email"]

    fill(tab, "#voices-list > li:last-child textarea", "British spelling.")
    fill(tab, "#voices-list > li:last-child [name=k]", "3")
    tab.run("document.querySelector('#voices-list > li:last-child select').value = 'message'")
    tab.click("#voices-list > li:last-child button:not(.danger)")
    status(tab, "Saved.")
    email = ann.get("/v1/voices/email").json()
    assert (email["instructions"], email["template"], email["k"]) == ("British spelling.", "message", 3)

    fill(tab, "#voice-name", "email")
    tab.click("#voice-new button")
    tab.until("document.querySelector('#problem').textContent.includes(\"a voice 'email' already\")")
    tab.click("#voices-list > li:first-child .danger")
    tab.click("#voices-list > li:first-child .sure .danger")
    status(tab, "Deleted.")
    assert [voice["name"] for voice in ann.get("/v1/voices").json()["data"]] == ["email"]
    assert offered(tab, "#voice") == ["", "email"]
    assert tab.errors == []


def test_a_voice_is_kept_on_this_machine_and_allowed_again(signed_in: Any, chromium: Browser) -> None:
    tab, served = chromium, signed_in("A draft.")
    ann, only = served.house.as_user("ann"), "#voices-list > li:only-child"
    for kept in (True, False):
        tab.open(f"{served.address}/")
        go(tab, "voices")
        tab.until(f"document.querySelector('{only} [name=local_only]')?.checked === {str(not kept).lower()}")
        tab.click(f"{only} [name=local_only]")
        tab.click(f"{only} button:not(.danger)")
        status(tab, "Saved.")
        assert ann.get("/v1/voices/email").json()["local_only"] is kept
        if kept:  # its texts would stay without the setting
            tab.click(f"{only} .danger")
            tab.click(f"{only} .sure .danger")
            tab.until("document.querySelector('#problem').textContent.includes('is local only')")
    assert "no model on another machine is shown them" in tab.text()
    fill(tab, "#voice-name", "diary")
    tab.click("#voice-new [name=local_only]")
    tab.click("#voice-new button")
    status(tab, "Made.")
    assert ann.get("/v1/voices/diary").json()["local_only"] is True
    assert not tab.run("document.querySelector('#voice-new [name=local_only]').checked")


@pytest.mark.parametrize("name", ["pearl", "  ", "x\u200by", ".."])
def test_a_name_that_cannot_be_is_said(signed_in: Any, chromium: Browser, name: str) -> None:
    served = signed_in()
    go(chromium, "voices")
    chromium.until("document.querySelectorAll('#voices-list > li').length === 1")
    fill(chromium, "#voice-name", name)
    chromium.click("#voice-new button")
    chromium.until("!document.querySelector('#problem').hidden")
    assert len(served.house.rows("voices")) == 1


def test_the_likeness_of_a_text_is_said_plainly(signed_in: Any, chromium: Browser) -> None:
    dice = random.Random(1)
    texts = [" ".join(dice.choices(WORDS.split(), k=60)) for _ in range(20)]
    signed_in(documents=tuple(Document(f"d{place}", text, 1000.0 + place) for place, text in enumerate(texts)))
    go(chromium, "likeness")
    fill(chromium, "#likeness-text", "Kettle's on.")
    chromium.click("#likeness-form button")
    chromium.until("!document.querySelector('#likeness-said').hidden")
    assert "too short to say: it has 2 words, and 30 are needed" in chromium.text()
    fill(chromium, "#likeness-text", f"{texts[0]} {HOSTILE}")
    chromium.click("#likeness-form button")
    chromium.until(
        "/The chance that you wrote it is [a-z ]*[0-9]+ %/.test(document.querySelector('#likeness-said').textContent)"
    )
    assert "beside 20 texts of yours" in chromium.text()
    fill(chromium, "#likeness-text", HOSTILE)
    chromium.run("document.querySelector('#likeness-voice').value = 'email'")
    chromium.click("#likeness-form button")
    chromium.until("document.querySelector('#likeness-said').textContent.includes('too short')")
    assert chromium.run("document.querySelectorAll('main img, main script').length") == 0
    assert chromium.errors == []


def play(tab: Browser, number: int, of: int, *, right: bool) -> None:
    """Choose one of the texts of a pair: the person's begins with 'Own'."""
    tab.until(f"document.querySelector('#blind h3')?.textContent === 'Pair {number} of {of}'")
    tab.until("document.activeElement === document.querySelector('#blind h3')")
    texts = tab.run("[...document.querySelectorAll('#blind article .text')].map((text) => text.textContent)")
    (own,) = (place for place, text in enumerate(texts) if text.startswith("Own"))
    tab.click(f"#blind article:nth-child({1 + (own if right else 1 - own)}) button")


@pytest.mark.parametrize(
    ("right", "meaning"),
    [
        (10, "all of them in fewer than 1 % of tests. So you can tell the drafts from your own texts."),
        (9, "9 or more in 1 % of tests. So you can tell the drafts from your own texts."),
        (5, "5 or more in 62 % of tests. So this may be chance"),
        (0, "0 or more in 100 % of tests. So you took the drafts for your own more often than chance."),
    ],
)
def test_ten_pairs_are_told_apart_or_not(signed_in: Any, chromium: Browser, right: int, meaning: str) -> None:
    tab, served = chromium, signed_in(*[f"Draft {number} {HOSTILE}" for number in range(10)], documents=answers(30))
    go(tab, "likeness")
    tab.click("#blind-start button")
    for number in range(1, 11):
        play(tab, number, 10, right=number <= right)
        if number < 10:  # nothing of what was right is on the page before the end
            assert "right" not in tab.run("document.querySelector('#blind').textContent")
    tab.until("document.querySelector('#blind h3').textContent.startsWith('You were right')")
    said = tab.run("document.querySelector('#blind').textContent")
    assert f"You were right {right} of 10 times" in said
    assert f"Guessing gives 5 of 10 on average, and {meaning}" in said
    assert said.count("Yours") == 10
    assert tab.run("document.querySelectorAll('main img, main script').length") == 0
    assert tab.run("[localStorage.length, sessionStorage.length].join()") == "0,0"
    assert served.house.rows("drafts") == []
    assert tab.errors == []


def test_sides_are_drawn_and_pairs_differ(signed_in: Any, chromium: Browser) -> None:
    signed_in(*["Draft"] * 10, documents=answers(40))
    go(chromium, "likeness")
    drawn = "window.drawn = (window.drawn ?? 0) + 1; bytes[0] = (drawn % 2) * 255; return bytes;"
    chromium.run(f"crypto.getRandomValues = (bytes) => {{ {drawn} }}")
    chromium.click("#blind-start button")
    sides, asked = [], set()
    for number in range(1, 11):
        chromium.until(f"document.querySelector('#blind h3')?.textContent === 'Pair {number} of 10'")
        sides.append(chromium.run("document.querySelector('#blind article .text').textContent").startswith("Own"))
        asked.add(chromium.run("document.querySelector('#blind .asked').textContent"))
        chromium.click("#blind article button")
    assert sides == [False, True] * 5
    assert len(asked) == 10


def test_a_test_goes_on_after_a_failure_and_ends_early(signed_in: Any, chromium: Browser) -> None:
    tab = chromium
    signed_in("Draft 1", ChatError("The model is away."), "Draft 2", documents=answers(6))
    go(tab, "likeness")
    tab.click("#blind-start button")
    play(tab, 1, 3, right=True)
    tab.until("document.querySelector('#problem').textContent.includes('The model is away.')")
    assert tab.run("document.querySelector('#blind-start button').textContent") == "Go on"
    tab.click("#blind-start button")
    play(tab, 2, 3, right=True)
    tab.until("document.querySelector('#blind h3')?.textContent === 'Pair 3 of 3'")
    tab.click("#blind-end")
    tab.until("document.querySelector('#blind h3').textContent === 'You were right 2 of 2 times'")
    assert "all of them in 25 % of tests. So this may be chance" in tab.text()
    assert tab.run("document.querySelector('#blind-start button').textContent") == "Begin again"


def test_a_model_that_is_slow_can_be_left(signed_in: Any, chromium: Browser, silent_model: Any) -> None:
    served = signed_in(documents=answers(6))
    model = silent_model()
    served.house.services.drafter.model = model
    go(chromium, "likeness")
    chromium.click("#blind-start button")
    assert model.asked.wait(120)
    chromium.click("#blind-end")
    assert model.stopped.wait(120)
    chromium.until("document.querySelector('#blind-start button').textContent === 'Begin again'")
    assert chromium.run("document.querySelector('#problem').hidden")


def test_too_few_texts_are_said(signed_in: Any, chromium: Browser) -> None:
    signed_in()
    go(chromium, "likeness")
    chromium.click("#blind-start button")
    chromium.until("document.querySelector('#problem').textContent.includes('15 to 150 words and a known request')")
