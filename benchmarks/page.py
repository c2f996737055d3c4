"""How long a person waits on the page for the first words of a draft, beside what a program waits for the API's.

A real ``pearl serve`` drafts with a mock LLM that writes a token each 10 ms. Requests of the same kind go in turns by
the standard library's client, until the first event with words has come, and by the page in a headless Chromium, from
the order until the words have been painted: the frame after they entered the document has ended.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from benchmarks.corpus import find_corpus, one_user
from benchmarks.figures import Figure, Measured, over_repetitions, percentile
from benchmarks.processes import House, served
from tests.browser import Browser, browser, sign_in

TITLE = "The first words on the page"
HISTORY, REPETITIONS, DRAFTS = 590, 5, 20
QUICK_HISTORY, QUICK_REPETITIONS, QUICK_DRAFTS = 8, 1, 2
WARM_UP = 3
PACE_S = 0.01  # a token
LATER_MS = 50  # goal
WAIT = """
new Promise((resolve) => {
  document.querySelector("#request").value = REQUEST;
  const text = document.querySelector("#text"), started = performance.now();
  new MutationObserver((changes, observer) => {
    if (!text.textContent || text.getAttribute("aria-busy") !== "true") return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - started)));
  }).observe(text, { childList: true, characterData: true, subtree: true });
  document.querySelector("#order").requestSubmit();
})
"""


def measure(quick: bool) -> Measured:
    repetitions, drafts = (QUICK_REPETITIONS, QUICK_DRAFTS) if quick else (REPETITIONS, DRAFTS)
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        corpus = find_corpus(Path(folder))
        person = one_user(corpus.lines(), QUICK_HISTORY if quick else HISTORY, 2 * (WARM_UP + repetitions * drafts))
        with served(person, Path(folder), PACE_S) as house, browser() as tab:
            tab.size(1200)
            sign_in(tab, house.pearl, house.key)
            pairs = zip(person.requests[::2], person.requests[1::2], strict=True)
            timed = [(_by_api(house, one), _by_page(tab, other)) for one, other in pairs][WARM_UP:]
            assert tab.errors == []
    rounds = [timed[start : start + drafts] for start in range(0, len(timed), drafts)]
    described = {"corpus": corpus.source, "history_documents": len(person.history), "drafts": drafts}
    return Measured(repetitions, described, tuple(_figures(rounds)))


def _by_api(house: House, request: str) -> float:
    """The milliseconds until the first event with words."""
    address = urlsplit(house.pearl)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
    headers = {"Authorization": f"Bearer {house.key}", "Content-Type": "application/json"}
    started = time.perf_counter()
    connection.request("POST", "/v1/drafts", json.dumps({"request": request, "stream": True}), headers)
    answer = connection.getresponse()
    while not (line := answer.readline()).startswith(b"event: delta"):
        assert line, "no words came"
    answer.readline()
    milliseconds = (time.perf_counter() - started) * 1000
    answer.read()
    connection.close()
    return milliseconds


def _by_page(tab: Browser, request: str) -> float:
    """The milliseconds until the first words are painted."""
    milliseconds = float(tab.run(WAIT.replace("REQUEST", json.dumps(request))))
    tab.until("document.querySelector('#status').textContent.startsWith('Written in')")
    return milliseconds


def _figures(rounds: list[list[tuple[float, float]]]) -> Iterator[Figure]:
    """Percentiles of each round, then the median over the rounds."""
    for percent in (50, 95):
        api, page = ([percentile([each[of] for each in timed], percent) for timed in rounds] for of in (0, 1))
        later = [shown - came for came, shown in zip(api, page, strict=True)]
        yield over_repetitions(f"api_p{percent}", f"first words by the API, p{percent}", "ms", api)
        yield over_repetitions(f"page_p{percent}", f"first words painted on the page, p{percent}", "ms", page)
        goal = LATER_MS if percent == 50 else None
        yield over_repetitions(f"later_p{percent}", f"of it the page, p{percent}", "ms", later, at_most=goal)
