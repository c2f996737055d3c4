"""A real headless Chromium, driven by its DevTools protocol; no library stands between."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
WAIT_S = 120.0
# Scroll to the element; give its middle. The next click on anything else reaches nothing, and sets `missed`.
AIM = """(selector) => {
    const element = document.querySelector(selector);
    if (!element?.getClientRects().length) return null;
    element.scrollIntoView({block: "center", behavior: "instant"});
    window.missed = false;
    window.aim?.abort();
    window.aim = new AbortController();
    const judge = (event) => {
        if (document.querySelector(selector)?.contains(event.target)) return;
        window.missed = true;
        event.stopImmediatePropagation();
        event.preventDefault();
    };
    for (const kind of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"])
        window.addEventListener(kind, judge, {capture: true, once: true, signal: window.aim.signal});
    const box = element.getClientRects()[0];
    return [box.x + box.width / 2, box.y + box.height / 2];
}"""


class Browser:
    """One tab."""

    def __init__(self, connection: ClientConnection, chromium: str) -> None:
        self._connection = connection
        self._chromium = chromium  # the address of its DevTools
        self._calls = 0
        self.requested: list[str] = []  # addresses that the tab has asked for
        self.errors: list[str] = []  # exceptions of scripts, and what the policy has blocked
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        self._calls += 1
        self._connection.send(json.dumps({"id": self._calls, "method": method, "params": params}))
        while True:
            message = json.loads(self._connection.recv(WAIT_S))
            self._note(message)
            if message.get("id") == self._calls:
                assert "error" not in message, (method, message["error"])
                return message["result"]

    def _note(self, message: Any) -> None:
        params = message.get("params", {})
        if message.get("method") == "Network.requestWillBeSent":
            self.requested.append(params["request"]["url"])
        elif message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif message.get("method") == "Log.entryAdded" and params["entry"]["source"] in ("security", "violation"):
            self.errors.append(params["entry"]["text"])

    def open(self, address: str) -> None:
        self._load("Page.navigate", url=address)

    def reload(self) -> None:
        self._load("Page.reload")

    def _load(self, method: str, **params: Any) -> None:
        self.run("window.old = true")  # or the page that is left would be taken for the new one
        self.call(method, **params)
        self.until("!window.old && document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, script: str) -> Any:
        """Wait until the expression is true; return its value."""
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                value = self.run(script)
            except AssertionError:  # the tab is between two pages
                value = None
            if value:
                return value
            assert time.monotonic() < deadline, f"never true: {script}\n{self.errors}\n{self.text()[:2000]}"
            time.sleep(0.05)

    def text(self) -> str:
        return str(self.run("document.body.innerText"))

    def click(self, selector: str) -> None:
        """Click the middle of the element, as a hand does: it must be seen, and not lie under another."""
        deadline = time.monotonic() + WAIT_S
        while not self._clicked(selector):
            assert time.monotonic() < deadline, f"always beside it, or under another: {selector}\n{self.text()[:2000]}"

    def _clicked(self, selector: str) -> bool:
        """Click where the element is seen; a click that meets another, as the page has moved, is held up."""
        x, y = self.until(f"({AIM})({json.dumps(selector)})")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        try:
            return self.run("window.missed") is not True
        except AssertionError:  # the click has led to another page
            return True

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: int, modifiers: int = 0) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
                modifiers=modifiers,
                text="\r" if key == "Enter" and kind == "keyDown" else "",
            )

    def size(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, file: Path, *, whole: bool = True) -> None:
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(answer["data"]))

    @contextmanager
    def another(self) -> Iterator[Browser]:
        """Open a second tab, with the same cookies; close it."""
        with httpx.Client(base_url=self._chromium, trust_env=False) as client:
            made = client.put("/json/new?about:blank").json()
            with connect(made["webSocketDebuggerUrl"], max_size=None, proxy=None) as connection:
                yield Browser(connection, self._chromium)
            client.get(f"/json/close/{made['id']}")

    def nameless(self) -> list[str]:
        """The controls that a screen reader would not name."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        controls = ("button", "textbox", "searchbox", "combobox", "link", "checkbox", "PopUpButton", "dialog", "image")
        return [
            str(node)
            for node in nodes
            if not node["ignored"]
            and node.get("role", {}).get("value") in controls
            and not node.get("name", {}).get("value", "").strip()
        ]


@contextmanager
def browser() -> Iterator[Browser]:
    """Start Chromium with an empty profile; end it."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            *(CHROMIUM, "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={profile}", "--disable-gpu"),
            *("--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage", "--mute-audio"),
            *(["--no-sandbox"] if os.geteuid() == 0 else []),  # Chromium's sandbox refuses root
            "about:blank",
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            chromium, tab = _tab(process, Path(profile))
            with connect(tab, max_size=None, proxy=None) as connection:
                yield Browser(connection, chromium)
        finally:
            process.terminate()
            process.wait()


def _tab(process: subprocess.Popen[bytes], profile: Path) -> tuple[str, str]:
    """The address of the DevTools, and that of the first tab's socket."""
    written = profile / "DevToolsActivePort"
    deadline = time.monotonic() + WAIT_S
    while process.poll() is None and time.monotonic() < deadline:
        if written.exists() and (lines := written.read_text().splitlines()):
            chromium = f"http://127.0.0.1:{lines[0]}"
            for tab in httpx.get(f"{chromium}/json/list", trust_env=False).json():
                if tab["type"] == "page":
                    return chromium, str(tab["webSocketDebuggerUrl"])
        time.sleep(0.05)
    raise AssertionError("Chromium did not start")


def sign_in(tab: Browser, address: str, key: str) -> None:
    """Sign in by the form, as a hand does."""
    tab.open(f"{address}/")
    tab.click("#key")
    tab.type(key)
    tab.press("Enter", 13)
    tab.until("document.readyState === 'complete' && !!document.querySelector('#request')")


def go(tab: Browser, part: str) -> None:
    """Go to a part of the page by its link."""
    tab.click(f"nav a[href='#{part}']")
    tab.until(f"!document.querySelector('#{part}').hidden")


def order(tab: Browser, request: str) -> None:
    tab.click("#request")
    tab.run("document.querySelector('#request').select()")
    tab.type(request)
    tab.press("Enter", 13, modifiers=2)


def written(tab: Browser) -> None:
    """Wait until the draft is written."""
    tab.until("document.querySelector('#status').textContent.startsWith('Written in')")
