"""The page for everybody: axe-core, the keyboard alone, text from right to left, and a window of 360 pixels."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest

from pearl.records import Document
from tests.browser import Browser, go, order, written

DRAFT = "Kettle's on, Tomas. Yes, swap with Bea on Saturday. Meet me in Skellmouth at 7:45. Mind the tide, Otti"
REQUEST = "Tomas asks whether he can swap his Saturday with Bea"
WORDS = "the kettle is on and the tide turns at four so bring the long ropes along"
HEBREW = "שלום טומס, כן, אפשר להחליף את יום שבת עם בי. להתראות, אוטי"
LONG = "https://example.org/" + "a" * 200
TEXTS = tuple(
    Document(f"mail-{day}", f"Kettle's on, Nan. {WORDS} {extra}", 86_400.0 * day, f"Rails {day}? {extra}", "email")
    for day, extra in enumerate([*[""] * 10, HEBREW, LONG])
)


@pytest.fixture(scope="module")
def axe() -> str:
    try:
        file = distribution("axe-playwright-python").locate_file("axe_playwright_python/axe.min.js")
    except PackageNotFoundError:
        pytest.skip("axe-core is not installed: pip install --no-deps --requirement requirements-axe.lock")
    return Path(str(file)).read_text(encoding="utf-8")


def violations(tab: Browser, axe: str) -> list[str]:
    """What axe-core finds wrong with the page as it stands, in light and dark."""
    found = []
    for dark in (False, True):
        tab.size(1200, dark=dark)
        if tab.run("typeof axe") == "undefined":
            tab.run(f"{axe}; undefined")  # by the DevTools: the page's policy lets no script in
        result = tab.run("axe.run(document, {resultTypes: ['violations']})")
        for rule in result["violations"]:
            nodes = [node["html"][:200] for node in rule["nodes"]]
            found.append(f"{'dark' if dark else 'light'}: {rule['id']}: {rule['help']}: {nodes}")
    return found


def parts(tab: Browser) -> Iterator[str]:
    """Open each part of the page in turn, and wait until it is filled."""
    for part in tab.run("[...document.querySelectorAll('nav a')].map((link) => link.hash.slice(1))"):
        tab.run("document.querySelector('#status').textContent = ''")
        go(tab, part)
        full = f"document.querySelectorAll('#{part} .texts > li').length"
        tab.until({"drafts": full, "history": full, "voices": full, "card": full}.get(part, "true"))
        yield part


def test_axe_finds_nothing_wrong(signed_in: Any, chromium: Browser, axe: str) -> None:
    tab = chromium
    signed_in("The draft of a pair.", DRAFT, "Kettle's on. Yes.", "Kettle's on. No.", documents=TEXTS)
    go(tab, "likeness")
    tab.click("#blind-start button")
    tab.until("!!document.querySelector('#blind h3')")
    assert violations(tab, axe) == []
    tab.click("#blind-end")
    go(tab, "write")
    order(tab, REQUEST)
    written(tab)
    assert tab.run("document.querySelectorAll('#claims li, #evidence li').length") > 2
    assert violations(tab, axe) == []
    tab.click("#edit")
    assert violations(tab, axe) == []
    for part in parts(tab):
        assert violations(tab, axe) == [], part
    tab.run("document.querySelector('#ended').showModal()")
    assert violations(tab, axe) == []
    tab.run("document.querySelector('#ended').append(document.createElement('button'))")
    assert len(violations(tab, axe)) == 2  # what is wrong would be found


def test_axe_finds_nothing_wrong_with_variants_questions_and_signing_in(
    signed_in: Any, chromium: Browser, axe: str, fixed_retriever: Any
) -> None:
    from retriever.base import Calibration

    served = signed_in("Kettle's on. Yes.", "Kettle's on. No.", "- Which Saturday?\n- Who else?", documents=TEXTS)
    chromium.run("document.querySelector('#variants').value = '2'")
    order(chromium, REQUEST)
    written(chromium)
    assert violations(chromium, axe) == []
    served.house.retrieve_with(fixed_retriever({"mail-1": 1.5}, Calibration(threshold=3.0, ask_below=2.0)))
    order(chromium, "swap")
    chromium.until("!document.querySelector('#questions').hidden")
    assert violations(chromium, axe) == []
    chromium.call("Network.clearBrowserCookies")
    chromium.open(f"{served.address}/")
    chromium.type("pearl_wrong")
    chromium.press("Enter", 13)
    chromium.until("!!document.querySelector('#problem')")
    assert violations(chromium, axe) == []


def test_the_keyboard_alone_writes_and_accepts(signed_in: Any, chromium: Browser) -> None:
    tab, served = chromium, signed_in(DRAFT, documents=TEXTS)
    tab.until("document.activeElement.id === 'request'")
    tab.type(REQUEST)
    tab.press("Enter", 13, modifiers=2)
    written(tab)
    claims = tab.run("document.querySelectorAll('#claims .open').length")
    reach(tab, "document.activeElement.matches('#claims .strike')")
    tab.press("Enter", 13)
    tab.until(f"document.querySelectorAll('#claims .open').length < {claims}")
    reach(tab, "document.activeElement.id === 'accept'", back=True)
    tab.press("Enter", 13)
    tab.until("document.querySelector('#status').textContent.startsWith('Kept')")
    tab.until("document.activeElement.id === 'request'")
    assert [row.outcome for row in served.house.rows("feedback")] == ["edited"]


def reach(tab: Browser, there: str, *, back: bool = False) -> None:
    """Press Tab until the focus is there; each stop on the way is seen."""
    for _ in range(60):
        tab.press("Tab", 9, modifiers=8 if back else 0)
        if tab.run(there):
            return
        assert tab.run("document.activeElement.getClientRects().length"), "the focus is on something hidden"
    raise AssertionError(f"not reached by Tab: {there}")


def test_text_runs_its_own_way(signed_in: Any, chromium: Browser) -> None:
    tab = chromium
    signed_in(HEBREW, documents=TEXTS)
    order(tab, HEBREW)
    written(tab)
    ways = "[...document.querySelectorAll('{}')].map((part) => getComputedStyle(part).direction)"
    assert tab.run(ways.format("#request, #text")) == ["rtl", "rtl"]
    assert set(tab.run(ways.format("main, #order label"))) == {"ltr"}
    tab.click("#edit")
    assert tab.run(ways.format("#editor")) == ["rtl"]
    go(tab, "drafts")
    tab.until("document.querySelectorAll('#drafts li .text').length === 1")
    assert tab.run(ways.format("#drafts .asked, #drafts .text")) == ["rtl", "rtl"]


def test_no_part_is_wider_than_a_telephone(signed_in: Any, chromium: Browser) -> None:
    tab, served = chromium, signed_in(f"{DRAFT} {LONG}", f"Draft {LONG}", documents=TEXTS)
    served.house.voice("ann", "v" * 200, instructions=LONG)
    tab.size(360)
    tab.reload()
    order(tab, f"{REQUEST} {LONG}")
    written(tab)
    wide = "document.documentElement.scrollWidth"
    assert tab.run(wide) <= 360
    for part in parts(tab):
        assert tab.run(wide) <= 360, part
    tab.run("location.hash = '#likeness'")
    tab.click("#blind-start button")
    tab.until("!!document.querySelector('#blind h3')")
    assert tab.run(wide) <= 360
    tab.click("#blind article button")
    tab.click("#blind-end")
    tab.until("document.querySelector('#blind h3').textContent.startsWith('You were right')")
    assert tab.run(wide) <= 360


def test_axe_finds_nothing_wrong_with_the_first_run(listen: Any, chromium: Browser, axe: str) -> None:
    served = listen()
    served.house.app.state.on_loopback = True
    chromium.call("Network.clearBrowserCookies")
    chromium.open(f"{served.address}/")
    chromium.click("#name")
    assert violations(chromium, axe) == []
    chromium.type("Ann")
    chromium.press("Enter", 13)
    chromium.until("!!document.querySelector('#made')")
    assert violations(chromium, axe) == []
