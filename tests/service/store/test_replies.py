from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pearl.models.chat.base import Reply
from pearl.records import Usage
from service.store.replies import FOLDER, empty_replies, kept_replies, reply_lines

QUOTING = "As you wrote: the tide waits for no one."


@pytest.fixture
def ann(pearl: Any) -> Any:
    pearl.add("ann", "The tide waits for no one.", "Something else.")
    keep(pearl, "ann", QUOTING)
    keep(pearl, "ben", "Ben's own.")
    return pearl.as_user("ann")


def keep(pearl: Any, name: str, text: str) -> None:
    with kept_replies(pearl.settings.home, pearl.user(name)) as store:
        store.add(name.encode(), Reply(text, "stop", Usage(1, 1)))


def kept(pearl: Any, name: str) -> list[str]:
    return [line["text"] for line in reply_lines(pearl.settings.home, pearl.user(name).id)]


def on_disk(pearl: Any, words: str) -> bool:
    return any(words.encode() in path.read_bytes() for path in (pearl.settings.home / FOLDER).iterdir())


def test_the_export_has_them(pearl: Any, ann: Any) -> None:
    assert ann.get("/v1/export").json()["calibration_replies"] == [{"text": QUOTING, "finish_reason": "stop"}]
    assert pearl.as_user("cem").get("/v1/export").json()["calibration_replies"] == []


@pytest.mark.parametrize("path", ["/v1/documents/d1", "/v1/documents?import=x", "/v1/me"])
def test_they_go_with_what_they_may_quote(pearl: Any, ann: Any, path: str) -> None:
    gone = ann.delete(path)
    assert (gone.status_code, kept(pearl, "ben")) == (404 if "import" in path else 204, ["Ben's own."])
    assert on_disk(pearl, "waits for no one") == (gone.status_code == 404)


def test_a_calibration_that_runs_goes_on(pearl: Any, ann: Any) -> None:
    with kept_replies(pearl.settings.home, pearl.user("ann")) as store:
        assert ann.delete("/v1/documents/d2").status_code == 204
        store.add(b"next", Reply("The next reply.", "stop", Usage(1, 1)))
        store.commit()
    assert kept(pearl, "ann") == ["The next reply."]


def test_a_damaged_file_goes(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    file = tmp_path / FOLDER / "1.sqlite"
    file.write_bytes(b"no database " * 500)
    assert list(reply_lines(tmp_path, 1)) == []
    empty_replies(tmp_path, 1)
    assert not file.exists()
