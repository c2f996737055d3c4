"""The page in a real headless Chromium: the first run, an archive dropped on it, undo, export and erasure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Browser, go
from tests.fake_chat import FakeChatModel
from tests.laid import packed

CHAT = """[13.02.24, 09:12:01] Bea Rook: Can you take my Saturday?
[13.02.24, 09:15:40] Ann Lee: Kettle's on. Saturday is fine, swap it.
[13.02.24, 09:16:02] Bea Rook: Thank you!
[14.02.24, 18:00:00] Ann Lee: Mind the tide <img src=x onerror='window.stolen = 1'>
"""


def drop(tab: Browser, *files: Path) -> None:
    """Drop files on the middle of the page, as from a file manager."""
    data = {"items": [], "files": [str(file) for file in files], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        tab.call("Input.dispatchDragEvent", type=kind, x=300, y=300, data=data)


def problem(tab: Browser) -> str:
    return str(
        tab.until("!document.querySelector('#problem').hidden && document.querySelector('#problem').textContent")
    )


def listed(tab: Browser, number: int) -> None:
    tab.until(f"document.querySelectorAll('#history > .texts > li:not(.hint)').length === {number}")


def test_drop_a_chat_and_undo_it(signed_in: Any, chromium: Browser, tmp_path: Path) -> None:
    served, tab = signed_in(), chromium
    drop(tab, packed(tmp_path / "WhatsApp Chat with Bea.zip", {"_chat.txt": CHAT}))
    tab.until("document.activeElement.id === 'import-me'")
    assert tab.run("location.hash") == "#history"
    assert "WhatsApp Chat with Bea.zip looks like a chat of WhatsApp." in tab.text()
    assert tab.run("document.querySelector('#import-kind').value") == "whatsapp"
    for progress in ("#import-progress", "#reading-part"):  # it has a width when it is shown
        assert tab.run(f"parseFloat(getComputedStyle(document.querySelector('{progress}')).width)") > 50
    assert tab.nameless() == []
    tab.type("Ann")
    tab.click("#import button.main")
    tab.until("document.activeElement.id === 'imported'")
    assert "Nobody in it is called Ann. Which of these are you?" in tab.text()
    tab.click("#imported .buttons button:nth-child(2)")  # Ann Lee
    tab.until("document.querySelector('#imported h2').textContent.startsWith('2 new texts from')")
    assert "2 left out: not written by you." in tab.text()
    listed(tab, 5)
    assert tab.run("document.querySelectorAll('main img').length") == 0
    assert tab.run("window.stolen") is None
    assert len(served.house.rows("documents")) == 5

    go(tab, "data")
    tab.until("document.querySelectorAll('#past-imports button').length === 1")
    assert "It brought 2 texts; 2 of them are there." in tab.text()
    tab.click("#past-imports button")
    tab.click("#past-imports .sure button.danger")
    tab.until("document.querySelector('#status').textContent === 'Removed 2 texts.'")
    assert "It brought 2 texts; 0 of them are there. Undone." in tab.text()
    assert len(served.house.rows("documents")) == 3
    assert tab.errors == []


def test_the_order_of_dates_is_asked_and_a_file_is_chosen_by_hand(
    signed_in: Any, chromium: Browser, tmp_path: Path
) -> None:
    served, tab = signed_in(), chromium
    go(tab, "history")
    dated = CHAT.replace("13.02.24", "03/02/24").replace("14.02.24", "04/02/24")
    chat = packed(tmp_path / "chat.zip", {"_chat.txt": dated})
    node = tab.call("Runtime.evaluate", expression="document.querySelector('#archive')")["result"]["objectId"]
    tab.call("DOM.setFileInputFiles", files=[str(chat)], objectId=node)
    tab.until("document.activeElement.id === 'import-me'")
    tab.type("Ann Lee")
    tab.click("#import-voice")
    tab.type("chat")
    tab.click("#import button.main")
    assert "which number is the day" in problem(tab)
    assert tab.run("document.activeElement.value") == "day_first"
    tab.press(" ", 32)
    tab.click("#import button.main")
    tab.until("document.querySelector('#imported h2')?.textContent.startsWith('2 new texts')")
    assert {row.voice for row in served.house.rows("documents")} == {None, "email", "chat"}
    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"id": "n", "timestamp": 1, "text": "A note."}\n')
    drop(tab, notes)  # of another kind: the chat's name and voice are not its own
    tab.until("document.querySelector('#import-kind').value === 'jsonl' && !document.querySelector('#import').hidden")
    assert tab.run("[document.querySelector('#import-me').value, document.querySelector('#import-voice').value]") == [
        "",
        "",
    ]
    drop(tab, chat)
    tab.until("document.querySelector('#import-voice').value === 'chat'")
    go(tab, "data")
    tab.until("document.querySelectorAll('#past-imports button').length === 1")
    tab.click("#past-imports button")
    tab.click("#past-imports .sure button.danger")
    go(tab, "history")
    listed(tab, 3)
    assert tab.errors == []


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: [(folder / "run.bin", b"\x7fELF\x02\0\0")], "looks like a program or another binary file"),
        (
            lambda folder: [(folder / "a.pdf", b"%PDF-1.7")],
            "looks like a PDF; convert it to text and import the .txt file.",
        ),
        (lambda folder: [(folder / "a.txt", b"x"), (folder / "b.txt", b"x")], "pack several into a zip file"),
        (lambda folder: [(folder / "big.mbox", 2_000_000_000)], "has more than 1 GB"),
    ],
    ids=["a program", "a PDF", "several", "two gigabytes"],
)
def test_what_is_dropped_and_cannot_be_taken(
    signed_in: Any, chromium: Browser, tmp_path: Path, make: Any, says: str
) -> None:
    served = signed_in()
    files = make(tmp_path)
    for path, content in files:
        with path.open("wb") as file:
            file.truncate(content) if isinstance(content, int) else file.write(content)
    drop(chromium, *(path for path, _ in files))
    assert says in problem(chromium)
    assert len(served.house.rows("documents")) == 3
    assert chromium.errors == []


def test_begin_import_export_and_erase(listen: Any, chromium: Browser, tmp_path: Path) -> None:
    """As a person does who never saw a terminal."""
    served, tab = listen(model=FakeChatModel(["Kettle's on."])), chromium
    served.house.app.state.on_loopback = True
    tab.errors.clear()
    tab.call("Network.clearBrowserCookies")
    tab.size(360)
    tab.open(f"{served.address}/")
    tab.until("document.activeElement.id === 'name'")
    assert tab.run("document.documentElement.scrollWidth") <= 360
    assert tab.nameless() == []
    tab.type("Ann")
    tab.press("Enter", 13)
    key = tab.until("document.querySelector('#made')?.value")
    assert key.startswith("pearl_")
    made = "document.querySelector('#made')"
    assert tab.run(f"{made}.scrollWidth <= {made}.clientWidth && {made}.scrollHeight <= {made}.clientHeight")
    tab.click("#copy")
    tab.until("document.querySelector('#copied').textContent !== ''")
    assert tab.nameless() == []
    tab.click("a.main")
    tab.until("document.querySelector('#history') && !document.querySelector('#history').hidden")
    notes = tmp_path / "notes.jsonl"
    notes.write_text(
        "".join(json.dumps({"id": f"n{n}", "timestamp": n, "text": f"Note {n}."}) + "\n" for n in range(3))
    )
    drop(tab, notes)
    tab.until("!document.querySelector('#import').hidden")
    assert tab.run("document.documentElement.scrollWidth") <= 360
    tab.click("#import button.main")
    tab.until("document.querySelector('#imported h2')?.textContent.startsWith('3 new texts')")
    listed(tab, 3)

    tab.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path / "down"))
    go(tab, "data")
    tab.until("document.querySelectorAll('#past-imports button').length === 1")
    assert tab.run("document.documentElement.scrollWidth") <= 360
    assert tab.nameless() == []
    tab.click("#export")
    tab.until("document.querySelector('#status').textContent === 'Exported.'")
    assert len(json.loads(wait_for(tmp_path / "down" / "pearl-export.json"))["documents"]) == 3

    tab.click("#erase-name")
    tab.type("Anna")
    tab.click("#erase .danger")
    assert "not your name" in problem(tab)
    assert len(served.house.rows("documents")) == 3
    tab.run("document.querySelector('#erase-name').value = ''")
    tab.click("#erase-name")
    tab.type("Ann")
    tab.click("#erase .danger")
    tab.until("document.querySelector('h1').textContent === 'Everything of yours is deleted'")
    assert (served.house.rows("users"), served.house.rows("documents")) == ([], [])
    assert "Sign out" not in tab.text()
    tab.click("main a")
    tab.until("document.activeElement.id === 'name'")  # nobody is here again
    assert not tab.run("!!document.querySelector('#problem')")
    assert tab.errors == []


def wait_for(file: Path) -> str:
    import time

    deadline = time.monotonic() + 120
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return file.read_text(encoding="utf-8")


def test_try_the_sample(listen: Any, chromium: Browser) -> None:
    served = listen()
    served.house.app.state.on_loopback = True
    chromium.call("Network.clearBrowserCookies")
    chromium.open(f"{served.address}/")
    chromium.click("button[name=sample]")
    chromium.until("document.querySelector('.who bdi')?.textContent === 'sample'")
    go(chromium, "history")
    listed(chromium, 20)
