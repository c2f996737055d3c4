"""Archives sent over HTTP: guessed, imported, undone; and what must not come in."""

from __future__ import annotations

import json
import socket
import tempfile
import threading
import zipfile
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import orjson
import pytest

from service.http.api import imports
from service.importing import upload
from service.importing.restore import ExportReader
from service.importing.sources.base import SourceDocument
from service.importing.sources.jsonl import JsonlImporter
from tests.laid import zipped
from tests.pieces import read_until

CHAT = """[13.02.24, 09:12:01] Bea Rook: Can you take my Saturday?
[13.02.24, 09:15:40] Ann Lee: Kettle's on. Saturday is fine, swap it.
[13.02.24, 09:16:02] Bea Rook: Thank you!
[14.02.24, 18:00:00] Ann Lee: Mind the tide on the way over.
"""
AMBIGUOUS = CHAT.replace("13.02.24", "03/02/24").replace("14.02.24", "04/02/24")
LINES = [{"user_id": "old-name", "id": f"m{n}", "timestamp": 1_700_000_000 + n, "text": f"Text {n}."} for n in range(3)]


def history(lines: list[dict[str, Any]] = LINES) -> bytes:
    return b"".join(orjson.dumps(line) + b"\n" for line in lines)


def send(user: Any, content: bytes, name: str, *, to: str = "/v1/imports", **params: Any) -> Any:
    return user("POST", to, content=content, params={"name": name, **params})


def texts(user: Any) -> list[str]:
    return [document["text"] for document in user.get("/v1/documents", params={"order": "asc"}).json()["data"]]


@pytest.fixture(autouse=True)
def no_folder_stays(until: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    name = f"pearl-import-{uuid4().hex}-"
    monkeypatch.setattr("service.process.temporary.FOLDER_NAME", name)
    yield
    until(lambda: not list(Path(tempfile.gettempdir()).glob(f"{name}*")))


def test_a_chat_is_guessed_then_imported_then_undone(database_url: str, house: Any) -> None:
    pearl = house(database_url=database_url)
    ann = pearl.as_user("ann")
    ann.post("/v1/documents", {"id": "before", "text": "Before.", "timestamp": 1.0})
    archive = zipped({"_chat.txt": CHAT})
    name = "WhatsApp Chat with Bea.zip"
    guess = send(ann, archive, name, to="/v1/imports/guess").json()
    assert guess == {"object": "import_guess", "kind": "whatsapp", "looks": "a chat of WhatsApp"}
    answer = send(ann, archive, name, me="Ann Lee", voice="chat")
    assert answer.status_code == 200
    outcome = answer.json()
    assert (outcome["imported"], outcome["left_out"], outcome["errors"]) == (2, {"not written by --me": 2}, [])
    assert (outcome["kind"], outcome["source"], outcome["unmatched_me"]) == ("whatsapp", name, [])
    assert texts(ann) == ["Before.", "Kettle's on. Saturday is fine, swap it.", "Mind the tide on the way over."]
    again = send(ann, archive, name, me="Ann Lee", voice="chat").json()
    assert (again["id"], again["imported"], again["already_there"]) == (None, 0, 2)

    (past,) = ann.get("/v1/imports").json()["data"]
    assert (past["id"], past["source"], past["brought"], past["documents"]) == (outcome["id"], name, 2, 2)
    assert pearl.as_user("ben").get("/v1/imports").json()["data"] == []
    assert [voice["name"] for voice in ann.get("/v1/voices").json()["data"]] == ["chat"]
    assert ann.delete("/v1/documents", params={"import": outcome["id"]}).json()["deleted"] == 2
    assert texts(ann) == ["Before."]
    assert ann.get("/v1/voices").json()["data"] == []
    assert ann.get("/v1/imports").json()["data"][0]["undone_at"] > 0


def test_a_stream_tells_how_far_it_is(ann: Any) -> None:
    answer = send(ann, history(), "history.jsonl", stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    names = [lines[0] for lines in events]
    assert names == ["event: progress"] * (len(names) - 1) + ["event: import"]
    last = json.loads(events[-2][1].removeprefix("data: "))
    assert last == {"documents": 3, "done": len(history()), "size": len(history()), "unit": "bytes"}
    assert json.loads(events[-1][1].removeprefix("data: "))["imported"] == 3


def test_the_order_of_dates_is_asked_for(ann: Any) -> None:
    answer = send(ann, AMBIGUOUS.encode(), "_chat.txt", me="Ann Lee")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, "ambiguous_dates")
    assert error["message"].startswith("_chat.txt: '03/02/24, 09:12:01'")
    assert texts(ann) == []
    assert send(ann, AMBIGUOUS.encode(), "_chat.txt", me="Ann Lee", option="month_first").json()["imported"] == 2
    assert ann.get("/v1/documents").json()["data"][1]["timestamp"] == 1709370940.0  # 2 March


def test_a_name_that_is_nobodys_is_said_with_those_that_are_there(ann: Any) -> None:
    outcome = send(ann, CHAT.encode(), "_chat.txt", me="Anne").json()
    assert (outcome["imported"], outcome["unmatched_me"]) == (0, ["Anne"])
    assert outcome["senders"] == [{"name": "Bea Rook", "texts": 2}, {"name": "Ann Lee", "texts": 2}]


def test_a_history_file_becomes_the_callers_whoever_it_names(pearl: Any, ann: Any) -> None:
    pearl.user("ben")
    others = {"user_id": "ben", "id": "b", "timestamp": 1.0, "text": "Ben's."}
    outcome = send(ann, history([*LINES, others]), "everyone.jsonl").json()
    assert (outcome["imported"], outcome["left_out"]) == (3, {"another user's": 1})
    assert {row.name for row in pearl.rows("users")} == {"ann", "ben"}
    assert pearl.as_user("ben").get("/v1/documents").json()["data"] == []


def test_an_export_brings_everything_back(pearl: Any, ann: Any) -> None:
    ann.post("/v1/documents", {"id": "a", "text": "Kettle's on.", "voice": "email"})
    ann.put("/v1/voices/email", {"instructions": "Sign as Ann."})
    draft = ann.post("/v1/drafts", {"request": "Greet"}).json()
    exported = ann.get("/v1/export").content
    ann.delete("/v1/me")
    back = pearl.as_user("ann again")
    assert send(back, exported, "pearl-export.json", to="/v1/imports/guess").json()["kind"] == "export"
    outcome = send(back, exported, "pearl-export.json").json()
    assert outcome["imported"] == 1
    assert outcome["remarks"] == ["voices: 1 restored, 0 already there.", "drafts: 1 restored, 0 already there."]
    assert [each["id"] for each in back.get("/v1/drafts").json()["data"]] == [draft["id"]]
    assert back.get("/v1/voices").json()["data"][0]["instructions"] == "Sign as Ann."


def test_the_kinds_say_what_they_need(ann: Any) -> None:
    kinds = {kind["name"]: kind for kind in ann.get("/v1/imports/kinds").json()["data"]}
    assert {"export", "jsonl", "mbox", "whatsapp", "chatgpt"} <= kinds.keys()
    assert "git" not in kinds
    assert kinds["whatsapp"]["needs_me"]
    assert [option["name"] for option in kinds["whatsapp"]["options"]] == ["day_first", "month_first", "year_first"]


BOMB = b"bomb"  # stands for 150 MB of zeros until the test runs
UNKNOWN_CLOCK = CHAT.replace("09:12:01]", "09:12:01 ZZ]").replace("09:15:40]", "09:15:40 ZZ]")


@pytest.mark.parametrize(
    ("content", "name", "params", "code", "says"),
    [
        (b"\x7fELF\x02\x01\x01\0\0\0", "run", {}, "unknown_source", "looks like a program or another binary file"),
        (b"MZ\x90\0\x03\0", "setup.exe", {}, "unknown_source", "setup.exe: looks like a program"),
        (
            b"%PDF-1.7",
            "a.pdf",
            {},
            "unknown_source",
            "a.pdf: looks like a PDF; convert it to text and import the .txt file.",
        ),
        (b"{\\rtf1", "a.rtf", {}, "unknown_source", "rich text; convert it to Markdown and import that."),
        (b"!!", "a.xyz", {}, "unknown_source", "a .xyz file; say what kind it is, or write it as a history file."),
        (b"SQLite format 3", "a", {}, "unknown_source", "with id, timestamp and text), and bring that."),
        (BOMB, "chat.zip", {}, "too_large", "unpacks to more than 200 times its packed size"),
        (BOMB, "chat.zip", {"kind": "whatsapp", "me": "Ann"}, "too_large", "unpacks to more than 200 times"),
        (zipped({"../../_chat.txt": b"x"}), "chat.zip", {}, "unsafe_path", "a path that leads out of it"),
        (CHAT.encode(), "../chat.txt", {}, "invalid_name", "without folders"),
        (CHAT.encode(), "..\\chat.txt", {}, "invalid_name", "without folders"),
        (CHAT.encode(), "..", {}, "invalid_name", "without folders"),
        (UNKNOWN_CLOCK.encode(), "_chat.txt", {"me": "Ann Lee"}, "unknown_locale", "'ZZ' is not known"),
        (zipped({"_chat.txt": CHAT * 50})[:200], "chat.zip", {}, "cut_off", "breaks off"),
        (b"", "chat.txt", {}, "unknown_source", "looks like an empty file; export it again"),
        (CHAT.encode(), "_chat.txt", {}, "missing_me", "which name, address or id there is yours"),
        (CHAT.encode(), "_chat.txt", {"kind": "chats"}, "unknown_importer", "There is no importer 'chats'"),
        (CHAT.encode(), "_chat.txt", {"kind": "git"}, "invalid_value", "reads a folder on the service's machine"),
        (CHAT.encode(), "x", {"kind": "jsonl", "option": "fast"}, "unknown_option", "'jsonl' has no option 'fast'"),
        (CHAT.encode(), "x", {"kind": "whatsapp", "me": "A", "option": "x"}, "unknown_option", "there are day_first"),
        (history(), "h.jsonl", {"voice": "pearl"}, "invalid_value", "the whole history"),
        (b"{", "pearl.json", {"kind": "export"}, "invalid_json", "pearl.json"),
    ],
)
def test_what_cannot_be_imported(
    pearl: Any, ann: Any, content: bytes, name: str, params: dict[str, Any], code: str, says: str
) -> None:
    content = zipped({"_chat.txt": bytes(150_000_000)}, zipfile.ZIP_DEFLATED) if content == BOMB else content
    answer = send(ann, content, name, **params)
    error = answer.json()["error"]
    assert 400 <= answer.status_code < 500
    assert (error["code"], says in error["message"]) == (code, True), error
    assert "pearl-import" not in answer.text, "it names the temporary folder"
    assert (pearl.rows("documents"), pearl.rows("imports")) == ([], [])


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", "application/gzip"])
def test_only_the_file_itself(ann: Any, kind: str) -> None:
    answer = ann("POST", "/v1/imports", content=history(), params={"name": "h.jsonl"}, headers={"Content-Type": kind})
    assert answer.status_code == (422 if kind.startswith("multipart") else 200)


def post_head(address: str, key: str, length: int) -> socket.socket:
    host, _, port = address.removeprefix("http://").partition(":")
    connection = socket.create_connection((host, int(port)), timeout=120)
    connection.sendall(
        f"POST /v1/imports?name=h.jsonl HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Length: {length}\r\n\r\n".encode()
    )
    return connection


def test_two_gigabytes_are_refused_before_they_come(listen: Any) -> None:
    served = listen()
    with post_head(served.address, served.house.key("ann"), 2_000_000_000) as connection:
        answer = read_until(connection, b"over the limit of 1,000,000,000 bytes")
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_length_that_is_not_announced_is_counted(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "MOST", 1_000)
    answer = ann("POST", "/v1/imports", params={"name": "x"}, content=iter([b"x" * 600, b"x" * 600]))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")


def test_a_file_that_comes_too_slowly_is_given_up(listen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "READ_TIMEOUT_S", 0.2)
    served = listen()
    with post_head(served.address, served.house.key("ann"), 1000) as connection:
        assert read_until(connection, b"request_timeout").startswith(b"HTTP/1.1 408 ")


def test_a_cut_upload_imports_nothing_and_frees_the_turn(listen: Any, until: Any) -> None:
    served = listen()
    key = served.house.key("ann")
    with post_head(served.address, key, 10_000) as connection:
        connection.sendall(history())
    send_one = partial(
        httpx2.post,
        f"{served.address}/v1/imports",
        params={"name": "h.jsonl"},
        content=history(LINES[:1]),
        headers={"Authorization": f"Bearer {key}"},
    )
    until(lambda: send_one().status_code == 200)
    assert len(served.house.rows("documents")) == 1


class Held(JsonlImporter):
    """Yields its documents one by one, each when the test lets it."""

    reading, go_on = threading.Event(), threading.Event()

    def read(self, source: Path, options: Any) -> Any:
        for item in super().read(source, options):
            yield item
            if isinstance(item, SourceDocument):
                Held.reading.set()
                assert Held.go_on.wait(120)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> type[Held]:
    Held.reading, Held.go_on = threading.Event(), threading.Event()
    monkeypatch.setattr(upload, "load_importer", lambda kind: Held())
    return Held


def test_two_at_once(pearl: Any, ann: Any, held: type[Held]) -> None:
    pearl.app.state.uploads = upload.Uploads(most=1)
    ben, answers = pearl.as_user("ben"), list[Any]()
    first = threading.Thread(target=lambda: answers.append(send(ann, history(), "h.jsonl", kind="jsonl")))
    first.start()
    assert held.reading.wait(120)
    second = send(ann, history(), "h.jsonl", kind="jsonl")
    assert (second.status_code, second.json()["error"]["code"]) == (409, "import_running")
    third = send(ben, history(), "h.jsonl", kind="jsonl")
    assert (third.status_code, third.headers["retry-after"]) == (503, "10")
    assert ann.get("/v1/documents").status_code == 200, "others go on"
    held.go_on.set()
    first.join()
    assert answers[0].json()["imported"] == 3
    assert send(ben, history(), "h.jsonl", kind="jsonl").json()["imported"] == 3


@pytest.mark.parametrize("name", ["h.jsonl", "export.json"])
def test_an_import_brings_no_deleted_user_back(
    pearl: Any, ann: Any, held: type[Held], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = list[Any]()
    if name == "h.jsonl":
        content, kind = history(), "jsonl"
    else:  # one without documents, of which the voices are restored
        content, kind = b'{"object": "export", "user_id": "ann", "voices": [{"name": "email"}]}', "export"
        read = ExportReader.read

        def wait(*given: Any) -> Any:
            yield from read(*given)
            held.reading.set()
            assert held.go_on.wait(120)

        monkeypatch.setattr(ExportReader, "read", wait)
    sending = threading.Thread(target=lambda: answers.append(send(ann, content, name, kind=kind)))
    sending.start()
    assert held.reading.wait(120)
    assert ann.delete("/v1/me").status_code in (202, 204)
    held.go_on.set()
    sending.join()
    assert (answers[0].status_code, answers[0].json()["error"]["code"]) == (404, "user_not_found")
    assert [pearl.rows(table) for table in ("users", "documents", "voices", "imports")] == [[], [], [], []]


def test_who_leaves_stops_it_and_the_same_archive_adds_the_rest(
    listen: Any, held: type[Held], until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[upload.OneUsers] = []

    class Noted(upload.OneUsers):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(imports, "OneUsers", Noted)
    served = listen()
    headers = {"Authorization": f"Bearer {served.house.key('ann')}"}
    params = {"name": "h.jsonl", "kind": "jsonl", "stream": "true"}
    address = f"{served.address}/v1/imports"
    with httpx2.stream("POST", address, params=params, content=history(), headers=headers, timeout=120) as answer:
        lines = answer.iter_lines()  # which, once it is garbage, closes the answer
        assert next(lines) == "event: progress"
        assert held.reading.wait(120)
    until(made[0].stop.is_set)
    held.go_on.set()
    assert len(served.house.rows("documents")) < 3
    again = partial(httpx2.post, address, params={**params, "stream": "false"}, content=history(), headers=headers)
    until(lambda: again().status_code != 409)
    assert len(served.house.rows("documents")) == 3
