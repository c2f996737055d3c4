"""The page when something comes between: a restart of the service, the end of a session, a second tab; and texts that
would run as scripts, in every part."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from pearl.records import Document
from service.http.api import sessions
from tests.browser import Browser, go, order, sign_in, written

REQUEST = "Tomas asks whether he can swap his Saturday"
HOSTILE = "<img src=x onerror='window.stolen = 1'><script>window.stolen = 1</script>"
WORDS = "the kettle is on and the tide turns at four so bring the long ropes along"
SERVICE = """
import sys, uvicorn
from tests.fake_chat import FakeChatModel
from pearl.settings import load_settings
from service.http.app import create_app
from tests.service.conftest import SilentModel, UNTRAINED

home, port, model = sys.argv[1:]
words = ["<document>\\n", "Kettle's on, Tomas. ", "The tide turns at four. ", "Bring the ropes. ", "Then "]
chat = FakeChatModel() if model == "answers" else SilentModel(words)
uvicorn.run(create_app(load_settings(home=home, **UNTRAINED), model=chat), port=int(port), log_level="critical")
"""


def said(tab: Browser, element: str) -> str:
    return str(tab.run(f"document.querySelector('{element}').textContent"))


@contextmanager
def process(home: Path, port: int, model: str) -> Iterator[str]:
    """A service of its own process, which is killed at the end."""
    command = [sys.executable, "-c", SERVICE, str(home), str(port), model]
    started = subprocess.Popen(command)
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline and started.poll() is None:
            try:
                httpx.get(f"{address}/health", trust_env=False)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield address
    finally:
        started.kill()
        started.wait()


def test_the_service_restarts_while_a_draft_streams(pearl: Any, chromium: Browser) -> None:
    pearl.add("ann", "Kettle's on, Nan.")
    home, key, tab = pearl.settings.home, pearl.key("ann"), chromium
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with process(home, port, "stalls") as address:
        sign_in(tab, address, key)
        order(tab, REQUEST)
        tab.until("document.querySelector('#text').textContent.startsWith('Kettle')")
    tab.until("!document.querySelector('#problem').hidden")
    assert said(tab, "#problem") == "The service stopped before the draft was written; write it again."
    assert said(tab, "#text").startswith("Kettle's on, Tomas.")
    assert tab.run("document.querySelector('#request').value") == REQUEST
    tab.click("#send")
    tab.until("document.querySelector('#problem').textContent.startsWith('The service does not answer.')")
    assert tab.run("document.querySelector('#request').value") == REQUEST
    with process(home, port, "answers"):
        tab.click("#send")
        written(tab)
        assert said(tab, "#text") == "A fake reply."
        assert tab.run("document.querySelector('#problem').hidden")


def test_a_session_expires_and_goes_on_after_signing_in_elsewhere(
    signed_in: Any, chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab, served = chromium, signed_in("Kettle's on.", "Kettle's on again.")
    order(tab, REQUEST)
    written(tab)
    tab.click("#edit")
    tab.until("document.activeElement.id === 'editor'")
    tab.type(" Right.")
    with monkeypatch.context() as later:
        later.setattr(sessions, "time", SimpleNamespace(time=lambda: time.time() + sessions.LASTS_S + 1))
        tab.click("#accept")
        tab.until("document.querySelector('#ended').open")
        tab.click("#ended-close")
    assert "sign in again" in said(tab, "#problem")
    assert said(tab, "#text") == "Kettle's on. Right."
    with tab.another() as second:
        second.call("Network.clearBrowserCookies")
        sign_in(second, served.address, served.key)
    tab.click("#accept")
    tab.until("document.querySelector('#status').textContent.startsWith('Kept')")
    assert tab.run("document.querySelector('#problem').hidden")


def test_two_tabs_write_side_by_side(signed_in: Any, chromium: Browser) -> None:
    served = signed_in("Kettle's on.", "Kettle's off.", "Kettle's away.")
    with chromium.another() as second:
        second.size(1200)
        second.open(f"{served.address}/")
        second.until("!!document.querySelector('#request')")
        for tab in (chromium, second):
            order(tab, REQUEST)
        for tab in (chromium, second):
            written(tab)
        second.click("#accept")
        second.until("document.querySelector('#status').textContent.startsWith('Kept')")
        go(chromium, "drafts")
        chromium.until("document.querySelectorAll('#drafts .texts > li').length === 2")
        accepted = second.run("now.draft.id")
        newest = chromium.run("document.querySelector('#drafts li .text').textContent")
        place = 1 if newest == second.run("now.text") else 2
        chromium.click(f"#drafts .texts > li:nth-child({place}) button")
        chromium.until(f"now.draft?.id === '{accepted}' && !document.querySelector('#tools').hidden")
        chromium.click("#reject")  # what the other tab has accepted
        chromium.until("!document.querySelector('#problem').hidden")
        assert "was given already" in said(chromium, "#problem")
        assert [row.outcome for row in served.house.rows("feedback")] == ["accepted"]
        assert chromium.errors == second.errors == []


def test_another_person_in_the_second_tab_never_gets_what_the_first_writes(signed_in: Any, chromium: Browser) -> None:
    served = signed_in("Kettle's on.")
    with chromium.another() as second:
        second.size(1200)
        second.open(f"{served.address}/")
        second.click("form.who button")
        second.until("!!document.querySelector('#key')")
        order(chromium, REQUEST)
        chromium.until("document.querySelector('#ended').open")
        chromium.click("#ended-close")
        sign_in(second, served.address, served.house.key("ben"))
        order(chromium, REQUEST)
        chromium.until("document.querySelector('#problem').textContent.startsWith('Somebody else has signed in')")
        assert chromium.run("document.querySelector('#request').value") == REQUEST
    assert served.house.rows("drafts") == []


def test_texts_that_would_run_are_text_in_every_part(signed_in: Any, chromium: Browser) -> None:
    tab = chromium
    documents = tuple(
        Document(f"<b>{day}</b>", f"{HOSTILE} {day} {WORDS}", 86_400.0 * day, f"{HOSTILE} {day}", HOSTILE, "<i>nan</i>")
        for day in range(12)
    )
    served = signed_in(HOSTILE, HOSTILE, HOSTILE, documents=documents)
    served.house.voice("ann", HOSTILE, instructions=HOSTILE)
    tab.reload()
    tab.until("document.querySelector('#voice').options.length === 3")
    order(tab, HOSTILE)
    written(tab)
    assert said(tab, "#text") == HOSTILE
    tab.click("#remarks summary")
    for part in tab.run("[...document.querySelectorAll('nav a')].map((link) => link.hash.slice(1))"):
        go(tab, part)
        if part in ("drafts", "history", "voices", "card"):
            tab.until(f"document.querySelectorAll('#{part} .texts > li').length")
            assert "onerror" in tab.run(f"document.querySelector('#{part}').textContent")
    go(tab, "likeness")
    tab.click("#blind-start button")
    tab.until("!!document.querySelector('#blind h3')")
    tab.click("#blind article button")
    tab.click("#blind-end")
    tab.until("document.querySelector('#blind h3').textContent.startsWith('You were right')")
    assert tab.run("document.querySelectorAll('main :is(img, script, b b, i)').length") == 0
    assert tab.run("window.stolen") is None
    assert tab.errors == []
