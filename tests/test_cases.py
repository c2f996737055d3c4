"""The cases of the shared folder, where it is: small inputs from public reports, and what must come out of each."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pearl.settings import load_settings
from service.hook.message import UNATTENDED, is_unwanted
from service.http.app import create_app
from tests.dovecot import Ann, mail_server
from tests.fake_chat import FakeChatModel

CASES = Path(os.environ.get("PEARL_SHARED", Path(__file__).parents[1] / ".." / "shared")) / "cases"


@dataclass(frozen=True)
class Text:
    """A document: its text, whatever its empty lines, and its request and time where the case names them."""

    text: str
    request: str | None = None
    time: str = ""  # how it begins, in UTC
    file: str = ""  # whose time it has
    voice: str = ""  # other than the one that all have

    def matches(self, found: dict[str, Any], folder: Path) -> bool:
        return (
            re.sub(r"\n+", "\n", found["text"]) == self.text
            and self.request in (None, found.get("request"))
            and self.voice in ("", found.get("voice"))
            and f"{datetime.fromtimestamp(found['timestamp'], UTC)}".startswith(self.time)
            and (not self.file or abs((folder / self.file).stat().st_mtime - found["timestamp"]) < 2)
        )


@dataclass(frozen=True)
class Import:
    """`pearl import` of these words brings these texts and no other; ``says`` is found in what it tells."""

    words: str
    texts: tuple[Text, ...]
    says: str = ""
    again: str = ""  # other words that must bring the same

    def check(self, folder: Path, tools: Tools) -> None:
        for number, words in enumerate(filter(None, (self.words, self.again))):
            user = f"user{number}"
            ran = tools.pearl("import", *shlex.split(words), "--user", user, "--json", "-")
            assert ran.status == 0, ran.err
            assert re.search(self.says, ran.out + ran.err, re.DOTALL | re.IGNORECASE), ran.out + ran.err
            lines = tools.pearl("export", "--user", user, "--history", "-").out.splitlines()
            found = [json.loads(line) for line in lines]
            missing = [text for text in self.texts if not any(text.matches(each, folder) for each in found)]
            assert (missing, len(found)) == ([], len(self.texts)), found


@dataclass(frozen=True)
class Commits:
    """`pearl import git` of a repository with these messages brings these texts."""

    texts: tuple[str, ...]
    left_out: dict[str, int]

    def check(self, folder: Path, tools: Tools) -> None:
        for name, value in {"GIT_CONFIG_NOSYSTEM": "1", "HOME": str(tools.path)}.items():
            tools.patch.setenv(name, value)
        git = ["git", "-C", str(tools.path), "-c", "user.name=Ann Lee", "-c", "user.email=ann@example.org"]
        subprocess.run([*git, "init", "-q"], check=True)
        for message in sorted(folder.glob("messages/*.txt")):
            subprocess.run([*git, "commit", "-q", "--allow-empty", "-F", message], check=True)
        ran = tools.pearl("import", "git", tools.path, "--user", "ann", "--me", "ann@example.org", "--json", "-")
        lines = tools.pearl("export", "--user", "ann", "--history", "-").out.splitlines()
        assert sorted(json.loads(line)["text"] for line in lines) == sorted(self.texts)
        assert ran.json["left_out"] == self.left_out


@dataclass(frozen=True)
class Conversation:
    """Both of OpenAI's routes answer the conversation of body.json, and the model is asked as for these messages of it,
    in this order. With ``refused`` behind it, it is an error."""

    request: str
    as_for: tuple[int, ...]
    refused: dict[str, Any] | None = None

    def check(self, folder: Path, tools: Tools) -> None:
        body = json.loads((folder / "body.json").read_text())
        messages = body.pop("messages")
        model, key = FakeChatModel(), tools.pearl("keys", "create", "--user", "ann", "--json", "-").json["key"]
        settings = load_settings(home=tools.path / "home", retriever="bm25", embed_in_background=False)
        app = create_app(settings, model=model, encoder=tools.encoder())
        with TestClient(app, headers={"Authorization": f"Bearer {key}"}) as client:
            client.put("/v1/voices/email", json={}).raise_for_status()
            for path, name in (("/v1/chat/completions", "messages"), ("/v1/responses", "input")):
                for each in (messages, [messages[place] for place in self.as_for]):
                    answer = client.post(path, json={**body, name: each})
                    assert answer.status_code == 200, (path, answer.text)
                assert model.calls[-2][0] == model.calls[-1][0]
                assert model.calls[-1][0][-1].content.endswith(f"{self.request}\n</request>")
                if self.refused:
                    answer = client.post(path, json={**body, name: [*messages, self.refused]})
                    assert answer.status_code == 422, (path, answer.text)


@dataclass(frozen=True)
class Verdicts:
    """`pearl judge authorship` reads these verdicts in the replies of replies.json."""

    read: dict[str, str]
    command: str = "judge authorship --runs 1 --choose order=random --llm openai"

    def check(self, folder: Path, tools: Tools) -> None:
        replies = json.loads((folder / "replies.json").read_text())
        tools.endpoint().says = lambda body: next(
            reply for item, reply in replies.items() if f"[{item}]" in str(body["messages"])
        )
        files = {
            "items": folder / "items.jsonl",
            "judgements": tools.path / "judged.jsonl",
        }
        ran = tools.pearl(*self.command.split(), **files)
        assert ran.status == 0, ran.err
        lines = map(json.loads, files["judgements"].read_text().splitlines())
        assert {line["item"]: line["verdict"] for line in lines} == self.read


@dataclass(frozen=True)
class Ratings:
    """Every alpha of ratings.csv is 1, or an error names one of these lines."""

    lines: tuple[int, ...]

    def check(self, folder: Path, tools: Tools) -> None:
        ran = tools.pearl("eval", "agreement", "--ratings", folder / "ratings.csv", "--json", "-")
        if ran.status:
            assert ran.status == 2
            assert any(f"ratings.csv:{line}" in ran.err for line in self.lines), ran.err
            return
        alphas = {name: each for name, each in ran.json["coefficients"].items() if "alpha" in name}
        assert {name: each and each["value"] for name, each in alphas.items()} == dict.fromkeys(alphas, 1)


@dataclass(frozen=True)
class Pairs:
    """`pearl check` marks in each draft of pairs.jsonl what the line says, or claims nothing at all."""

    def check(self, folder: Path, tools: Tools) -> None:
        wrong = []
        for pair in map(json.loads, (folder / "pairs.jsonl").read_text("utf-8").splitlines()):
            draft = tools.path / "draft.txt"
            draft.write_text(pair["draft"], "utf-8")
            claims = tools.pearl("check", draft, "--request", pair["request"], "--json", "-").json["claims"]
            marked = [claim["text"] for claim in claims if claim["start"] is not None]
            if pair.get("dropped"):
                right = any("Tomas" in claim["text"] for claim in claims if claim["kind"] == "dropped")
            else:
                wanted = pair.get("marked") or []
                right = all(any(word in text or text in word for text in marked) for word in wanted)
                right = right and (bool(wanted) or not claims)
            wrong += [] if right else [(pair, claims)]
        assert wrong == []


@dataclass(frozen=True)
class Watched:
    """`pearl mail watch` asks the model about the flagged mails with these Message-IDs alone, and puts a draft to these
    addresses into Drafts for each."""

    drafts: dict[str, tuple[str, ...]]

    def check(self, folder: Path, tools: Tools) -> None:
        tools.endpoint().says = lambda body: "<document>\nThe oars are in the shed.\n</document>"
        with mail_server() as server:
            for place, flags in (("inbox", "F"), ("sent", "S")):
                mails = sorted((folder / "mails" / place).glob("*.eml"))
                server.put("" if place == "inbox" else "Sent", *(mail.read_bytes() for mail in mails), flags=flags)
            ann = Ann(server, tools.path / "home", tools.pearl, tools.path)
            ann.look("--answer-flag", "flagged", "--llm", "openai")
            found = {draft["In-Reply-To"]: draft["To"].addresses for draft in ann.laid()}
        assert {id: tuple(each.addr_spec for each in to) for id, to in found.items()} == self.drafts
        assert len(tools.endpoint().bodies) == len(self.drafts)


@dataclass(frozen=True)
class Editors:
    """In a hook of git, no draft is wanted for the editors of ``none``, however git is told of them, and one is for
    those of ``real``."""

    none: tuple[str, ...]
    real: tuple[str, ...]

    def check(self, folder: Path, tools: Tools) -> None:
        for name in [name for name in os.environ if name.startswith("GIT_") or name in (*UNATTENDED, "PEARL_NO_DRAFT")]:
            tools.patch.delenv(name)
        subprocess.run(["git", "init", "-q", str(tools.path)], check=True)
        for editor in (*self.none, *self.real):
            for name, value in (("GIT_EDITOR", editor), ("GIT_CONFIG_PARAMETERS", f"'core.editor'='{editor}'")):
                with tools.patch.context() as patch:
                    patch.setenv(name, value)
                    assert is_unwanted(tools.path, None) is (editor in self.none), (name, editor)


@dataclass(frozen=True)
class Models:
    """Every one of these calls of Anthropic's clients, and OpenAI's without a parameter, lists these model ids."""

    pages: dict[str, list[str]]

    def check(self, folder: Path, tools: Tools) -> None:
        key = tools.pearl("keys", "create", "--user", "ann", "--json", "-").json["key"]
        settings = load_settings(home=tools.path / "home", retriever="bm25", embed_in_background=False)
        app = create_app(settings, model=FakeChatModel(), encoder=tools.encoder())
        with TestClient(app, headers={"x-api-key": key}) as client:
            client.put("/v1/voices/email", json={}).raise_for_status()
            for query, ids in self.pages.items():
                headers = {"anthropic-version": "2023-06-01"} if query else {}
                answer = client.get(f"/v1/models{query}", headers=headers)
                assert answer.status_code == 200, (query, answer.text)
                assert [model["id"] for model in answer.json()["data"]] == ids, query
                assert "display_name" in str(answer.json()["data"]) or not query or not ids


@dataclass
class Tools:
    """What a case is run with."""

    pearl: Callable[..., Any]
    path: Path  # a folder of the case's own
    patch: pytest.MonkeyPatch
    encoder: Callable[[], Any]
    endpoint: Callable[[], Any]


ANN = "--me ann@example.org"
SUNDAY = "Can you row on Sunday?"
ROWS = {
    "01": Import(
        f"mbox Sent {ANN}",
        (
            Text("The boat needs paint before it needs a name."),
            Text("I have them, in the shed behind the school.", "Who has the long oars?"),
            Text("Tea at four, whoever is dry.\nFrom then on there is cake."),
        ),
        again=f"Sent {ANN}",
    ),
    "02": Import(
        f"mbox Sent.mbox {ANN}",
        (
            Text("The boat needs paint before it needs a name.\nFrom here on I paint alone."),
            Text("I have them, in the shed.", "Who has the long oars?"),
        ),
    ),
    "06": Import(
        f"mbox Sent.mbox {ANN}",
        (Text("Thanks, the other cable did it."), Text("Noch nicht, das kommt am Montag."), Text("Yes, close it.")),
    ),
    "07": Import(
        f"mbox list.mbox {ANN}",
        (
            Text("From six, says the keeper.", "Is the lock open on Sunday?"),
            Text("Tea is at four.\n-=-=- and cake -=-=- at five."),
        ),
    ),
    "08": Import(
        f"mbox mails {ANN}",
        (Text("Dear landlord, the roof leaks, and so does my patience."),),
        says='"[^"]*draft[^"]*": ?1',
    ),
    "10": Commits(
        (
            "The lid was closed before the water was in.\nOpen it first.\n\nboiled two eggs",
            "It pours without a gulp now.",
            "Reviewers: they drink tea, so the kettle must be loud.",
        ),
        left_out={},
    ),
    "11": Commits(
        (
            "A seed was in it.",
            "A leaf was in it.",
            "The lid is of glass now, so one sees the water.",
            "It is of wood.",
            "Only words changed.",
            "This refs #12 and closes the old tap, which nobody used.",
        ),
        left_out={"no body": 2},
    ),
    "14": Import(
        "markdown vault",
        (
            Text("The first note.", time="2023-07-27"),
            Text("The second note.", time="2023-05-06 14:30"),
            Text("The third note.", time="2023-11-11"),
            Text("The fourth note.", time="2023-04-03"),
        ),
    ),
    "15": Import(
        "markdown notes",
        (
            Text("Es war ein kalter Frühling.", file="notes/season.md"),
            Text("Nobody knows when.", file="notes/tbd.md"),
            Text("This one has no date at all.", file="notes/none.md"),
            Text("The date is a link to a daily note.", time="2023-05-06"),
            Text("The zone has one digit, which YAML allows.", time="2024-01-01 05:00"),
        ),
        says=r"season\.md.*tbd\.md|: [23]\b[^\n]*time of the file",
    ),
    "17": Import(
        "markdown notes",
        (
            Text(
                "# Mails\nI answer mails before noon, or never.\n"
                "# Drawers\nI keep this in a drawer of my own.\nText below it."
            ),
        ),
    ),
    "18": Import("markdown export", (Text("What lies in the shed, lies in the shed.", "The shed", time="2021-03-04"),)),
    "19": Import(
        f"slack export {ANN}",
        (
            Text("The new oars came today, and they are too short."),
            Text("Only the blocks hold these words."),
            Text("Plain words, with blocks that say the same."),
        ),
    ),
    "20": Conversation("status of part 3", as_for=(1, 0)),
    "21": Conversation("status of part 4", as_for=(0, 2), refused={"role": "user", "content": None}),
    "26": Ratings(lines=(7, 8)),
    "27": Verdicts({"prose": "B", "newline": "B", "line": "B", "both": "both", "two": "invalid", "quoted": "invalid"}),
    "28": Verdicts(
        {
            **dict.fromkeys(("boxed", "mathbox", "plain"), "B"),
            **dict.fromkeys(("tag", "tick", "arrow"), "A"),
            **dict.fromkeys(("cross", "doubt"), "invalid"),
        }
    ),
    "29": Editors(
        ("true", ":", "/bin/true", "cat", "echo", "sh -c true", "vim -c wq"), ("vim", "/opt/ed", "code --wait")
    ),
    "30": Import(
        f"mbox Out.mbx {ANN}",
        (
            Text("The plan is bold.\nAnn"),
            Text("The plan is a long line that was broken here and goes on."),
            Text("The plan is attached."),
            Text("A plain mail, as they were in 2002."),
        ),
    ),
    "31": Import(
        f"mbox Sent.mbox {ANN}",
        (
            *(Text(f"I can do Sunday at one, with the long oars.{number}", SUNDAY) for number in ("", " (2)", " (3)")),
            Text("The dates are these:\n2013/11/5 rowing\n2013/11/6 tea, with bob@example.net"),
        ),
    ),
    "32": Import(
        f"mbox Sent.mbox {ANN}",
        tuple(Text(f"I can do Sunday at one, with the long oars.{number}", SUNDAY) for number in ("", " (2)", " (3)")),
    ),
    "41": Import(
        "whatsapp chat.txt --me 'Ann Lee'",
        (
            *(Text(text) for text in ("It stood on the slipway", "It left at noon,\nand came back", "Morgen wieder")),
            Text("Fill in <your name here> and send it back"),
        ),
    ),
    "42": Import("whatsapp chat.txt --me 'Ann Lee'", (Text("Son söz bu."),)),
    "44": Import(
        "whatsapp . --me 'Ann Lee'",
        (
            *(
                Text(f"They hang {where}.", time="2024-03-12 15:04")
                for where in ("in the shed", "under the roof", "by the door")
            ),
            *(Text(f"The boat {does}.", time="2024-03-25 15:04") for does in ("waits", "is long", "is old")),
        ),
    ),
    "45": Import("telegram result.json --me 'Ann Lee'", (Text("My own words about oars."),), says='"forwarded": ?2'),
    "47": Import("x archive", (Text("The long rope floats, it does."), Text("A post by itself."))),
    "48": Import(
        "mastodon archive", (Text("Bob is right about oars"), Text("So is Eve"), Text("RE: the oars, they are dry"))
    ),
    "49": Import(
        "mastodon archive --voice posts",
        (
            Text("The shed is open.", voice="posts"),
            Text("@bob a private word about money", voice="chat"),
            Text("For followers alone.", voice="posts"),
        ),
    ),
    "53": Import(
        "chatgpt conversations.json",
        tuple(
            each
            for boat, wet in (("rowing boat", "when wet"), ("sailing boat", "in frost"))
            for each in (
                Text(f"Name five knots for a {boat}."),
                Text(f"Which one holds {wet}?", "The bowline and four more."),
            )
        ),
    ),
    "54": Import("markdown vault", (Text("The shed is dry.\nThe oars are 5 % longer, < 3 m."),)),
    "56": Watched({"<open@example.net>": ("nan@example.net",)}),
    **dict.fromkeys(("57", "58"), Watched({"<ask@example.net>": ("nan@example.net",)})),
    "59": Watched(
        {"<two@example.net>": ("desk@example.net", "boss@example.net"), "<form@example.net>": ("form@example.net",)}
    ),
    "62": Models(
        {
            "": ["pearl", "email"],
            "?limit=1000": ["pearl", "email"],
            "?limit=1": ["pearl"],
            "?limit=20&after_id=pearl": ["email"],
            "?limit=20&after_id=email": [],
            "?before_id=email": ["pearl"],
        }
    ),
    **dict.fromkeys(("69", "70", "71", "73", "76", "77", "78", "79"), Pairs()),
}
FOLDERS = {folder.name[:2]: folder for folder in sorted(CASES.glob("[0-9][0-9]-*"))}


@pytest.mark.parametrize("number", sorted(ROWS.keys() | FOLDERS.keys()))
def test_what_must_come_out_of_a_case(
    number: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run_pearl: Callable[..., Any],
    word_encoder: Callable[[], Any],
    judge_endpoint: Any,
) -> None:
    if number not in FOLDERS:
        pytest.skip("the shared data do not have the case; set PEARL_SHARED")
    if number not in ROWS:
        pytest.skip("no row of tests/test_cases.py says what must come out of the case")
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(FOLDERS[number])
    tools = Tools(run_pearl, tmp_path, monkeypatch, word_encoder, lambda: judge_endpoint)
    ROWS[number].check(FOLDERS[number], tools)
