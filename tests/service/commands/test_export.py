"""pearl export, and pearl import export: the way out and in again."""

from __future__ import annotations

import gzip
import json
import math
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from pearl.records import Document

SECRET = "the heron ate my brake cable"


@pytest.fixture
def exported(pearl: Any, tmp_path: Path) -> Path:
    """An export over HTTP of a user with something of everything."""
    pearl.voice("ann", "email", instructions=f"Mention that {SECRET}.", template="message", k=3)
    pearl.add("ann", Document("a", SECRET, 5.0, "Why?", "email"), Document("b", "Grüße \U0001f600.", 6.5))
    ann = pearl.as_user("ann")
    for outcome in ({"outcome": "accepted"}, {"outcome": "edited", "final_text": "Sent."}, {"outcome": "rejected"}):
        pearl.model.replies.extend(["A reply.", "Another."])
        draft = ann.post("/v1/drafts", {"request": "write", "instructions": "Briefly.", "variants": 2}).json()
        ann.post("/v1/feedback", {"draft_id": draft["id"], **outcome})
        if outcome["outcome"] == "accepted":
            ann("PATCH", f"/v1/documents/{draft['id']}", {"mine": True})
    ann("PATCH", "/v1/profile?voice=email", {"standing": True})
    ann.post("/v1/drafts", {"request": "another", "voice": "email"})
    path = tmp_path / "pearl-export.json"
    path.write_bytes(ann.get("/v1/export").content)
    return path


def content(path: Path) -> dict[str, Any]:
    """An export without the time at which it was made, and without that of its voices."""
    export = json.loads(path.read_bytes())
    del export["created_at"]
    for voice in export["voices"]:
        del voice["created_at"]
    assert isinstance(export, dict)
    return export


def test_out_and_in_again_whole(command: Any, exported: Path, tmp_path: Path) -> None:
    run = command("import", "export", exported, "--json", "-")
    assert run.status == 0, run.err
    assert (run.json["imported"], run.json["voices"]) == (4, {"restored": 1, "already_there": 0, "problems": []})
    assert (run.json["drafts"]["restored"], run.json["feedback"]["restored"]) == (4, 3)
    assert command("export", "--json", tmp_path / "again.json").status == 0
    before, after = content(exported), content(tmp_path / "again.json")
    assert after == before
    assert [len(after[name]) for name in ("voices", "documents", "drafts", "feedback")] == [1, 4, 4, 3]
    assert [given["document_id"] is None for given in after["feedback"]] == [False, False, True]
    assert [given.get("mine") for given in after["feedback"]] == [True, None, None]
    assert [(kept["voice"], kept["standing"]) for kept in after["profiles"]] == [("email", True)]
    assert [kept["retrieval"]["variants"][1]["text"] for kept in after["drafts"][:3]] == ["Another."] * 3
    # twice is once
    run = command("import", "export", exported, "--json", "-")
    assert (run.json["imported"], run.json["already_there"]) == (0, 4)
    assert [run.json[kind]["restored"] for kind in ("voices", "drafts", "feedback")] == [0, 0, 0]
    assert [run.json[kind]["already_there"] for kind in ("voices", "drafts", "feedback")] == [1, 4, 3]
    assert command("export", "--json", tmp_path / "third.json").status == 0
    assert content(tmp_path / "third.json") == before


def test_it_is_recognised_and_can_be_undone(command: Any, exported: Path) -> None:
    run = command("import", exported)
    assert run.status == 0, run.err
    assert "looks like an export of PEARL's own: pearl import export" in run.err
    assert "drafts: 4 restored, 0 already there\n" in run.err
    (past,) = command("imports", "list", "--json", "-").json["imports"]
    assert (past["importer"], past["counts"]["imported"]) == ("export", 4)
    assert command("imports", "undo", past["id"], "--yes").err == "Removed 4 documents.\n"


@pytest.mark.parametrize("pack", [gzip.compress, lambda content: content.decode().encode("utf-16")])
def test_in_again_compressed_and_as_powershell_writes_it(command: Any, exported: Path, tmp_path: Path, pack) -> None:
    (tmp_path / "packed.json").write_bytes(pack(exported.read_bytes()))
    assert command("import", "export", tmp_path / "packed.json", "--json", "-").json["imported"] == 4


def test_in_again_through_a_pipe(command: Any, exported: Path, piped: Any) -> None:
    assert command("import", "export", piped(exported.read_bytes()), "--json", "-").json["imported"] == 4


def test_an_existing_voice_keeps_its_own(command: Any, exported: Path) -> None:
    command("keys", "create", "--user", "ann")
    command("voices", "set", "email", "--instructions", "Mine.")
    assert command("import", "export", exported, "--json", "-").json["voices"]["already_there"] == 1
    assert command("voices", "show", "email", "--json", "-").json["instructions"] == "Mine."


def test_into_another_user_of_the_same_database(command: Any, exported: Path, tmp_path: Path) -> None:
    assert command("import", "export", exported).status == 0
    for restored in ((4, 3), (0, 0)):  # twice is once
        run = command("import", "export", exported, "--user", "ben", "--json", "-")
        assert run.status == 0
        assert [run.json[kind]["problems"] for kind in ("drafts", "feedback")] == [[], []]
        assert tuple(run.json[kind]["restored"] for kind in ("drafts", "feedback")) == restored
    exports = {}
    for user in ("ann", "ben"):
        assert command("export", "--user", user, "--json", tmp_path / f"{user}.json").status == 0
        exports[user] = content(tmp_path / f"{user}.json")
    drafts, given = ({user: export[kind] for user, export in exports.items()} for kind in ("drafts", "feedback"))
    assert {draft["id"] for draft in drafts["ann"]}.isdisjoint(draft["id"] for draft in drafts["ben"])
    assert [{**draft, "id": ""} for draft in drafts["ann"]] == [{**draft, "id": ""} for draft in drafts["ben"]]
    ids = {"id": "", "draft_id": ""}
    assert [{**entry, **ids} for entry in given["ann"]] == [{**entry, **ids} for entry in given["ben"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an object is missing before the end of the file"),
        ("[]", "an object is missing"),
        ("{}", "it names no user"),
        ('{"object": "list"}', "is not an export of PEARL's"),
        ('{"object": "export"}', "it names no user"),
        ('{"object": "export", "documents": [{"id": "a", "text": "b"}]}', "names no user"),
        ('{"object": "export", "user_id": "a\\tb"}', "'user_id' must have 1 to 200 printable"),
        ('{"object": "export", "user_id": "ann", "documents": [{', "is not JSON"),
    ],
)
def test_files_that_are_no_export(command: Any, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.json").write_text(text)
    run = command("import", "export", tmp_path / "x.json")
    assert run.status == 2
    assert message in run.err
    assert len(run.err.splitlines()) == 1


def test_what_is_wrong_in_an_export_is_named_and_the_rest_goes_on(command: Any, exported: Path) -> None:
    export = json.loads(exported.read_text())
    export["documents"].insert(0, {"id": "bad", "text": "", "timestamp": 1})
    export["voices"] += [{"name": "x", "template": "nonsense"}, {"name": "y", "k": 99}, "z", {"name": "pearl"}]
    export["drafts"] += [{"id": "d"}, {**export["drafts"][0], "id": "e" * 61}, {**export["drafts"][0], "text": "a\0"}]
    export["drafts"] += [{**export["drafts"][0], "id": "f", "retrieval": "none"}, {"id": "g", "created_at": "now"}]
    whole = export["drafts"][0]
    export["drafts"] += [{**whole, "id": "h", "retrieval": {}}, {**whole, "id": "i", "stage": "sent"}]
    export["drafts"] += [{**whole, "id": "j", "usage": {"words": 3}}, {**whole, "id": "k", "editing": {"draft": []}}]
    export["feedback"] += [{"id": "f", "draft_id": "nowhere", "outcome": "accepted"}, {"outcome": "maybe"}]
    exported.write_text(json.dumps(export))
    run = command("import", "export", exported, "--json", "-")
    assert (run.status, run.json["imported"]) == (0, 4)
    assert run.json["left_out"] == {"empty text": 1}
    assert [len(run.json[kind]["problems"]) for kind in ("voices", "drafts", "feedback")] == [4, 9, 2]
    assert [run.json[kind]["restored"] for kind in ("voices", "drafts", "feedback")] == [1, 4, 3]
    assert f"{exported}: drafts.5: 'request' is missing." in run.err


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"timings": {"total_ms": math.nan}}, "timings"),
        ({"questions": ["\ud800"]}, "questions"),
        ({"quality": 10**400}, "quality"),
        ({"created_at": math.inf}, "created_at"),
    ],
)
def test_a_draft_that_not_every_database_can_keep(
    command: Any, exported: Path, fields: dict[str, Any], named: str
) -> None:
    export = json.loads(exported.read_bytes())
    export["drafts"][3] |= fields
    exported.write_text(json.dumps(export))
    run = command("import", "export", exported, "--json", "-")
    assert run.status == 0, run.err
    (problem,) = run.json["drafts"]["problems"]
    assert problem.startswith(f"drafts.4: '{named}' ")
    assert run.json["drafts"]["restored"] == 3


def test_problems_that_are_not_shown_are_counted(command: Any, exported: Path) -> None:
    export = json.loads(exported.read_text())
    export["voices"] += ["not a voice"] * 23
    exported.write_text(json.dumps(export))
    run = command("import", "export", exported)
    assert run.err.count("voices.") == 20
    assert "and 3 more\nvoices: 1 restored, 0 already there\n" in run.err


def test_a_history_file(command: Any, exported: Path, tmp_path: Path) -> None:
    command("import", "export", exported)
    path = tmp_path / "ann.jsonl.gz"
    run = command("export", "--user", "ann", "--history", path)
    assert (run.status, run.out, run.err) == (0, "", "")
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert lines[0] == {
        "user_id": "ann",
        "id": "a",
        "timestamp": 5.0,
        "text": SECRET,
        "request": "Why?",
        "voice": "email",
    }
    assert lines[1] == {"user_id": "ann", "id": "b", "timestamp": 6.5, "text": "Grüße \U0001f600."}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    run = command("import", "jsonl", path, "--json", "-")
    assert (run.json["imported"], run.json["already_there"]) == (0, 4)


def test_a_link_stays_and_its_file_becomes_private(command: Any, tmp_path: Path) -> None:
    command("keys", "create", "--user", "ann")
    (tmp_path / "there.json").write_text("before")
    (tmp_path / "there.json").chmod(0o644)
    (tmp_path / "link.json").symlink_to("there.json")
    assert command("export", "--json", tmp_path / "link.json").status == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "there.json").read_bytes())["user_id"] == "ann"
    assert stat.S_IMODE((tmp_path / "there.json").stat().st_mode) == 0o600


def test_a_history_file_is_what_training_reads(command: Any, tmp_path: Path, write_lines: Any) -> None:
    words = ["kettle", "bicycle", "rain", "library", "compost", "heron"]
    lines = [
        {
            "user_id": user,
            "id": f"{user}{number}",
            "timestamp": 1_600_000_000 + number * 86_400,
            "text": " ".join(f"{words[(number + at) % 6]} {user} {number}" for at in range(30)) + ".",
            "request": f"Say something of the {words[number % 6]}, number {number}",
        }
        for user in ("ann", "bob", "cy")
        for number in range(40)
    ]
    assert command("import", "jsonl", write_lines(lines)).status == 0
    path = tmp_path / "ann.jsonl.gz"
    assert command("export", "--user", "ann", "--history", path).status == 0
    run = command("train", "requests", "--history", path, "--llm", "embedded", "--out", tmp_path / "requests.jsonl.gz")
    assert run.status == 0, run.err


def test_on_standard_output(command: Any, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command("import", "export", exported)
    run = command("export", "--json", "-")
    assert (run.status, run.json["user_id"], run.err) == (0, "ann", "")
    monkeypatch.chdir(tmp_path)  # a file named "-" would lie here
    run = command("export", "--history", "-")
    lines = [json.loads(line) for line in run.out.splitlines()]
    assert (run.status, run.err, len(lines), lines[0]["text"]) == (0, "", 4, SECRET)
    run = command("export", "--history", "-", "--json", "-")
    assert (run.status, run.out) == (2, "")
    assert run.err == "pearl: --history -: is the file of --json; name another one.\n"
    assert not (tmp_path / "-").exists()
    run = command("export", "--history", "all", "--json", "./all")
    assert (run.status, run.err) == (2, "pearl: --history all: is the file of --json; name another one.\n")


def test_what_cannot_be_written_is_found_first(command: Any, tmp_path: Path) -> None:
    command("keys", "create", "--user", "ann")
    assert "there is no folder" in command("export", "--history", tmp_path / "no" / "x.jsonl").err
    run = command("import", "export", tmp_path / "ann.json", "--json", tmp_path / "no" / "x.json")
    assert "there is no folder" in run.err
    assert "that is a folder" in command("export", "--json", tmp_path).err
    assert command("export").err == "pearl: Give --json FILE for everything, or --history FILE for the documents.\n"
    assert command("export", "--user", "nobody", "--json", tmp_path / "x.json").status == 2
    assert not (tmp_path / "x.json").exists()


def test_a_full_disk_leaves_the_file_that_was_there(command: Any, tmp_path: Path, monkeypatch: Any) -> None:
    command("keys", "create", "--user", "ann")
    target = tmp_path / "x.json"
    target.write_text("before")

    def full(self: Any, to: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    run = command("export", "--json", target)
    assert (run.status, run.err) == (2, f"pearl: --json {target}: No space left on device\n")
    assert target.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir() if "x.json" in path.name] == ["x.json"]


def test_what_is_set_apart_comes_back_so(command: Any, pearl: Any, tmp_path: Path) -> None:
    odd = "I hope this email finds you well. I wanted to reach out. Thank you for your patience and understanding."
    ann = pearl.as_user("ann")
    for id, mine in (("odd", None), ("kept", True), ("never", False)):
        ann.post("/v1/documents", {"id": id, "text": "Tea." if id == "never" else f"{id}: {odd}", "mine": mine})
    path = tmp_path / "marked.json"
    path.write_bytes(ann.get("/v1/export").content)
    lines = {line["id"]: (line.get("set_apart"), line.get("mine")) for line in content(path)["documents"]}
    assert lines == {"odd": ("machine_prose", None), "kept": ("machine_prose", True), "never": ("not_mine", False)}
    run = command("import", "export", path, "--json", "-")
    assert run.json["set_apart"] == {"restored": 3, "already_there": 0, "problems": []}
    assert command("export", "--json", tmp_path / "again.json").status == 0
    assert content(tmp_path / "again.json") == content(path)


def test_a_voice_stays_local_only_from_the_first_document_on(
    command: Any, pearl: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pearl.voice("ann", "diary", local_only=True, edges=False)
    pearl.add("ann", Document("a", SECRET, 5.0, "Why?", "diary"))
    export = json.loads(pearl.as_user("ann").get("/v1/export").content)
    assert (export["voices"][0]["local_only"], export["voices"][0]["edges"]) == (True, False)
    path = tmp_path / "export.json"
    path.write_text(json.dumps(export))
    with monkeypatch.context() as broken:  # the import ends before the voices' turn
        broken.setattr("service.importing.restore.restore", lambda *_: sys.exit(1))
        command("import", "export", path)
    assert command("voices", "show", "diary", "--json", "-").json["local_only"] is True
    assert "local only:   yes" in command("voices", "show", "diary").out
    # one that is there is made stricter and never laxer
    assert command("voices", "set", "diary", "--no-local-only", "--instructions", "Mine.").status == 0
    assert command("import", "export", path).status == 0
    shown = command("voices", "show", "diary", "--json", "-").json
    assert (shown["local_only"], shown["instructions"]) == (True, "Mine.")
    del export["voices"][0]["local_only"]  # an export of an earlier version
    path.write_text(json.dumps(export))
    assert command("import", "export", path).status == 0
    assert command("voices", "show", "diary", "--json", "-").json["local_only"] is True


@pytest.mark.parametrize("name", ["local_only", "edges"])
@pytest.mark.parametrize("value", ["yes", 1, None, [True]])
def test_a_setting_that_is_no_truth_value(command: Any, exported: Path, tmp_path: Path, name: str, value: Any) -> None:
    export = json.loads(exported.read_bytes())
    export["voices"][0][name] = value
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(export))
    assert f"voices.1: '{name}' must be true or false." in command("import", "export", path).err
