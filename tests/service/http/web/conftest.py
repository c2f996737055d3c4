"""A real headless Chromium that is signed in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pearl.records import Document
from tests.browser import CHROMIUM, Browser, browser, sign_in
from tests.fake_chat import FakeChatModel

TEXTS = (
    Document(
        "mail-1", "Kettle's on, Nan. Four rails are plenty. Mind the tide, Otti", 1000.0, "How many rails?", "email"
    ),
    Document("mail-2", "The shop in Skellmouth opens at ten. Mind the tide, Otti", 2000.0, "When do we meet?", "email"),
    Document(
        "שלום",
        "<script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'> \u05e9\u05dc\u05d5\u05dd",
        3000.0,
    ),
)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with browser() as tab:
        yield tab


@pytest.fixture
def signed_in(listen: Any, chromium: Browser) -> Any:
    """Serve ann's texts, and sign her in; what is returned has her ``key`` too."""

    def make(*replies: Any, documents: tuple[Document, ...] = TEXTS) -> Any:
        served = listen(model=FakeChatModel(replies))
        served.house.add("ann", *documents)
        served.house.voice("ann", "email")
        chromium.call("Page.navigate", url="about:blank")  # the page of another test asks how far its service is
        chromium.call("Network.clearBrowserCookies")
        chromium.size(1200)
        chromium.errors.clear()
        chromium.requested.clear()
        served.key = served.house.key("ann")
        sign_in(chromium, served.address, served.key)
        return served

    return make
