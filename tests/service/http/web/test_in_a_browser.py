"""The page in a real headless Chromium: sign in, write, strike a claim, edit, accept; and hostile texts."""

from __future__ import annotations

import json
from typing import Any

from pearl.errors import PearlError
from pearl.records import Document
from retriever.base import Calibration
from tests.browser import Browser, order

DRAFT = "Kettle's on, Tomas. Yes, swap with Bea on Saturday. Meet me in Skellmouth at 7:45. Mind the tide, Otti"
WORDS = "the kettle is on and the tide turns at four so bring the long ropes along"


def sent(served: Any) -> list[tuple[str, str]]:
    """The outcomes that were reported, and the texts that went into the history."""
    with served.house.database.read() as connection:
        query = "SELECT outcome, text FROM feedback JOIN documents ON documents.seq = feedback.document_seq"
        return [tuple(row) for row in connection.exec_driver_sql(query)]


def test_write_strike_edit_and_accept(signed_in: Any, chromium: Browser) -> None:
    served = signed_in(DRAFT)
    tab = chromium
    assert tab.run("document.cookie") == ""  # no script can read it
    assert tab.run("location.href") == f"{served.address}/"
    order(tab, "Tomas asks whether he can swap his Saturday with Bea")
    tab.until("document.querySelector('#status').textContent.startsWith('Written in')")
    assert tab.run("document.querySelector('#text').innerText").startswith("Kettle's on")
    assert tab.run("[...document.querySelectorAll('#text .taken')].map((part) => part.textContent).join('|')") != ""
    assert tab.run("document.querySelectorAll('#evidence li').length") >= 1
    assert tab.nameless() == []

    claims = tab.run("[...document.querySelectorAll('#claims q')].map((claim) => claim.textContent)")
    assert any("7:45" in claim for claim in claims), claims
    struck = next(claim for claim in claims if "7:45" in claim)
    without = "!document.querySelector('#text').innerText.includes('7:45')"
    tab.click(f"[aria-label={json.dumps('Strike: ' + struck)}]")
    tab.until(without)
    tab.click("#undo")
    assert "7:45" in tab.run("document.querySelector('#text').innerText")
    tab.click(f"[aria-label={json.dumps('Strike: ' + struck)}]")
    tab.until(without)
    assert tab.run("document.querySelector('#text').innerText").endswith("on Saturday. Mind the tide, Otti")

    tab.click("#edit")
    tab.until("document.activeElement.id === 'editor'")
    tab.run("document.activeElement.setSelectionRange(0, 0)")
    tab.type("Right. ")
    tab.press("Escape", 27)
    assert tab.run("document.querySelector('#text').innerText").startswith("Right. Kettle's on")
    assert tab.run("document.querySelector('#accept').textContent") == "Accept as edited"
    tab.click("#accept")
    tab.until("document.querySelector('#status').textContent.startsWith('Kept')")
    ((outcome, text),) = sent(served)
    assert (outcome, text[:18], "7:45" in text) == ("edited", "Right. Kettle's on", False)
    assert tab.errors == []
    assert {address.split("/")[2] for address in tab.requested} == {served.address.split("/")[2]}


def test_what_stands_there_by_rule_is_said(signed_in: Any, chromium: Browser) -> None:
    signed = (Document(str(day), f"{WORDS} {day}.\n\nMind the tide,\nOtti", 86_400.0 * day) for day in range(1, 5))
    signed_in("The swap is fine.", documents=tuple(signed))
    order(chromium, "Say that the swap is fine")
    chromium.until(
        "document.querySelector('#notes').textContent.includes('“Mind the tide,” (4 texts), “Otti” (4 texts)')"
    )
    assert chromium.run("document.querySelector('#text').textContent") == "The swap is fine.\n\nMind the tide,\nOtti"


def test_what_the_draft_lacks_is_put_in_where_it_belongs_or_at_the_cursor(signed_in: Any, chromium: Browser) -> None:
    text = "Kettle's on, Tomas. The swap with Bea is fine.\n\nMind the tide,\nOtti"
    signed_in(text)
    tab, shown = chromium, "document.querySelector('#text').textContent"
    order(tab, "Say that the swap with Bea is on 4 March")
    tab.until("document.querySelector('#status').textContent.startsWith('Written in')")
    tab.click("[aria-label='Put in: 4 March']")
    tab.until(f"{shown} === {json.dumps(text.replace('fine.', 'fine on 4 March.'))}")
    assert "Put in: “…" in tab.run("document.querySelector('#status').textContent")
    tab.click("#undo")
    tab.click("#edit")
    tab.until("document.activeElement.id === 'editor'")
    tab.run("document.activeElement.setSelectionRange(20, 20)")
    tab.click("[aria-label='Put in: 4 March']")
    tab.until(f"{shown} === {json.dumps(text.replace('The swap', '4 March The swap'))}")
    assert tab.errors == []


def test_the_voice_card_begins_with_the_ends_of_letters_and_is_short(signed_in: Any, chromium: Browser) -> None:
    letters = tuple(
        Document(
            f"m{day}", f"Hello Tomas, kettle's on.\n\nThe tide; the rope; day {day}; {WORDS}.\n\nMind the tide,\nOtti",
            86_400.0 * day,
        )
        for day in range(8)
    )  # fmt: skip
    tab, served = chromium, signed_in(documents=letters)
    tab.click("nav a[href='#card']")
    tab.until("document.querySelectorAll('#card-edges > li').length === 2")
    first, last = tab.run("[...document.querySelectorAll('#card-edges > li')].map((item) => item.innerText)")
    assert first.splitlines()[0] == "Hello Tomas, kettle's on. The tide; the rope;"
    assert "All 8 texts end with it." in last
    assert tab.run("document.querySelectorAll('#card-lines > li').length") > 3
    assert tab.run("document.querySelector('#card').getBoundingClientRect().height") < 1800
    tab.click("#card-lines > li:first-child summary")
    tab.click("#card-lines > li:first-child .buttons button:last-child")
    tab.until("document.querySelector('#card-lines > li:first-child').className === 'struck'")
    assert tab.run("document.querySelector('#card-lines > li:first-child details').open")
    assert served.house.as_user("ann").get("/v1/profile").json()["lines"][0]["state"] == "struck"
    assert tab.nameless() == []
    assert tab.errors == []


def test_one_of_several_texts_is_taken(signed_in: Any, chromium: Browser) -> None:
    served = signed_in("Kettle's on. Yes.", "Kettle's on. Of course, Bea takes it.")
    chromium.run("document.querySelector('#variants').value = '2'")
    order(chromium, "Tomas asks whether he can swap")
    chromium.until("document.querySelector('#status').textContent.startsWith('Written in')")
    chromium.click("#variants-shown article:last-child button")
    assert chromium.run("document.querySelector('#text').innerText") == "Kettle's on. Of course, Bea takes it."
    chromium.click("#accept")
    chromium.until("document.querySelector('#status').textContent.startsWith('Kept')")
    assert sent(served) == [("accepted", "Kettle's on. Of course, Bea takes it.")]
    assert chromium.errors == []


def test_questions_are_answered_in_place(signed_in: Any, chromium: Browser, fixed_retriever: Any) -> None:
    served = signed_in("- Which Saturday?\n- Who else?", "Kettle's on. The 24th it is.")
    served.house.retrieve_with(fixed_retriever({"mail-1": 1.5}, Calibration(threshold=3.0, ask_below=2.0)))
    order(chromium, "swap")
    chromium.until("document.activeElement.dataset.question === 'Which Saturday?'")
    served.house.retrieve_with(fixed_retriever({"mail-1": 3.5}, Calibration(threshold=3.0, ask_below=2.0)))
    chromium.type("The 24th")
    chromium.press("Enter", 13)
    chromium.until("document.querySelector('#text').innerText === \"Kettle's on. The 24th it is.\"")
    assert chromium.run("document.querySelector('#request').value") == "swap\n\nWhich Saturday? The 24th"
    assert chromium.errors == []


def test_texts_of_the_history_run_nothing(signed_in: Any, chromium: Browser) -> None:
    hostile = "<img src=x onerror='window.stolen = 1'><script>window.stolen = 1</script>"
    served = signed_in(hostile)
    order(chromium, hostile)
    chromium.until("document.querySelector('#status').textContent.startsWith('Written in')")
    assert chromium.run("document.querySelector('#text').textContent") == hostile
    for part in ("drafts", "card", "history"):
        chromium.click(f"nav a[href='#{part}']")
        chromium.until(f"!document.querySelector('#{part}').hidden && document.querySelectorAll('main section').length")
    chromium.until("document.querySelectorAll('#history .texts > li').length === 3")
    assert chromium.run("document.querySelectorAll('main img, main script').length") == 0
    assert chromium.run("window.stolen") is None
    assert chromium.nameless() == []
    chromium.click("#history .texts > li:first-child button.danger")
    chromium.click("#history .texts > li:first-child .sure button.danger")
    chromium.until("document.querySelectorAll('#history .texts > li').length === 2")
    assert len(served.house.rows("documents")) == 2
    assert chromium.errors == []


def test_a_revoked_key_ends_the_session_and_keeps_the_words(signed_in: Any, chromium: Browser) -> None:
    from service.store import keys

    served = signed_in()
    with served.house.database.write() as connection:
        keys.revoke(connection, keys.list_all(connection)[0].id)
    order(chromium, "Thank Nan")
    chromium.until("document.querySelector('#ended').open")
    assert chromium.run("document.querySelector('#request').value") == "Thank Nan"


def test_a_model_that_breaks_off_is_said(signed_in: Any, chromium: Browser) -> None:
    signed_in(("Kettle's ", PearlError("The model broke off.")))
    order(chromium, "Thank Nan")
    chromium.until("!document.querySelector('#problem').hidden")
    assert "broke off" in chromium.run("document.querySelector('#problem').textContent")
