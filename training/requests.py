"""Synthetic requests for documents that have none, by any chat model (papers/pearl.txt, section B.2 and prompt 11).

The model explains itself, then names salient aspects of the text; these, joined, are the request. Every raw reply is
kept in a file next to the output: a run that was killed goes on where it stopped.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from pearl.errors import ChatRefused, ChatRejected
from pearl.models.asking.kept import Question, ReplyStore, key_of
from pearl.models.chat.base import ChatModel, Decoding, Message, Reply, complete
from pearl.models.prompts import MESSAGE_OVERHEAD, cut, fenced
from pearl.models.runtime.side_by_side import side_by_side
from pearl.records import Document, Usage
from pearl.text.files.whole import opened
from pearl.text.history.files import format_line
from pearl.text.templates import fill
from pearl.text.usable import storable
from retriever.history.lexical import words
from training.progress import Advance

ASPECTS = ("Overview", "Names", "Contacts", "Links", "Knowledge", "Anecdotes")
VERBATIM = ("Names", "Contacts", "Links")  # the others are to be in the model's own words
SAID = r"(?: (?:is|are|was|were))?(?: (?:mentioned|provided|given|included|needed|required))?(?: here| as [^.]*)?"
ABSENT = rf"no (?:\w+ )?(?:names?|places|contacts?|links?|knowledge|anecdotes?)(?: (?:or|and) \w+)?{SAID}"
NOTHING = re.compile(rf"(?i)[\W_]*(?:none|n/?a|not applicable|(?:the )?(?:author|speaker|user|writer)|{ABSENT})[\W_]*")
MARK = r"</|<\s*(?:Instruction\.)?(?:Explanation|" + "|".join(ASPECTS) + r")\s*>"  # what ends a part
COPIED_WORDS = 12  # in a row: a request that holds the target asks for nothing
DECODING = Decoding(max_tokens=600)
REFUSED = "refused"  # the finish reason of a reply that stands for a refusal, so that it is not asked for again


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """The request that a model wrote for a text, or the problem if there is none. ``reply``: the raw reply, without
    characters that cannot be stored."""

    request: str | None
    problem: str | None
    reply: str


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of documents: with their own request, with a synthetic one, and with an unusable reply by its problem."""

    natural: int
    synthetic: int
    problems: dict[str, int]


@cache
def prompt_texts() -> dict[str, str]:
    """Return the prompt's messages from the template file, by name."""
    source = (files("retriever.templates") / "_requests.toml").read_text(encoding="utf-8")
    return {name: text.strip("\n") for name, text in tomllib.loads(source).items()}


def request_messages(text: str, model: ChatModel) -> tuple[Message, ...]:
    """Return the prompt that asks for a text's request, the text cut to fit the model's context."""

    def messages(shown: str) -> tuple[Message, ...]:
        texts = prompt_texts()
        return (
            Message("system", texts["system"]),
            Message("user", fill(texts["document"], text=texts["example"])),
            Message("assistant", texts["answer"]),
            Message("user", fill(texts["document"], text=fenced(shown))),
        )

    def size(shown: str) -> int:
        return sum(model.count_tokens(message.content) + MESSAGE_OVERHEAD for message in messages(shown))

    return messages(cut(text, model.context_tokens - DECODING.max_tokens, size))


def read_reply(reply: Reply, text: str) -> RequestOutcome:
    """Read the request for ``text`` from a reply, or the problem why the reply has none."""
    text_of_reply = storable(reply.text)

    def unusable(problem: str) -> RequestOutcome:
        return RequestOutcome(None, problem, text_of_reply)

    if reply.finish_reason == REFUSED:
        return unusable(REFUSED)
    if reply.finish_reason == "length":
        return unusable("cut_short")
    aspects = _aspects(text_of_reply)
    if "Overview" not in aspects:
        return unusable("no_overview")
    if set(aspects.values()) & set(_aspects(prompt_texts()["answer"]).values()):
        return unusable("repeats_example")
    if any(_runs(aspect) & _runs(text) for name, aspect in aspects.items() if name not in VERBATIM):
        return unusable("copies_text")
    *others, last = aspects.values()
    return RequestOutcome(" ".join((*map(_ended, others), last)), None, text_of_reply)


def _ended(aspect: str) -> str:
    """The aspect with a full stop, so that the next one is another sentence."""
    return aspect if aspect.endswith((*".!?…", ".)", '."')) else f"{aspect}."


def _aspects(reply: str) -> dict[str, str]:
    """The aspects that a reply names, each on one line; not those for which it says that there is nothing."""
    aspects = {}
    for name in ASPECTS:
        marked = re.search(rf"<\s*(?:Instruction\.)?{name}\s*>(.*?)(?:{MARK}|\Z)", reply, re.IGNORECASE | re.DOTALL)
        aspect = " ".join(marked[1].split()) if marked else ""
        if re.search(r"\w", aspect) and not NOTHING.fullmatch(aspect):
            aspects[name] = aspect
    return aspects


def _runs(text: str) -> set[tuple[str, ...]]:
    """Return each run of COPIED_WORDS words of the text; a shared run counts as copied."""
    own = words(text)
    return {tuple(own[start : start + COPIED_WORDS]) for start in range(len(own) - COPIED_WORDS + 1)}


class RequestReplies:
    """Asks a chat model for requests, and keeps its replies in a file, refusals too."""

    def __init__(self, store: ReplyStore, model: ChatModel) -> None:
        self._kept = store
        self._model = model
        self._identity = str(getattr(model, "identity", model.name))
        self._questions: dict[str, Question] = {}  # by text: to cut a prompt to what fits takes time

    def find(self, text: str) -> RequestOutcome | None:
        """Read the request, or the problem, from the model's stored reply for a text; None if no reply is stored."""
        reply = self._kept.get(self._key(text))
        return None if reply is None else read_reply(reply, text)

    async def ask(self, text: str) -> None:
        """Ask for the request of a text; the reply is on disk when this returns. Raises ChatError."""
        try:
            reply = await complete(self._model, self._question(text).messages, DECODING)
        except (ChatRefused, ChatRejected):
            reply = Reply("", REFUSED, Usage())
        self._kept.add(self._key(text), reply)
        self._kept.commit()

    def _question(self, text: str) -> Question:
        if text not in self._questions:
            self._questions[text] = Question(request_messages(text, self._model))
        return self._questions[text]

    def _key(self, text: str) -> bytes:
        return key_of(self._identity, DECODING, self._question(text))


async def ask_all(texts: Sequence[str], replies: RequestReplies, advance: Advance, in_flight: int) -> None:
    """Ask for the request of every text without a kept reply, ``in_flight`` at once. Raises ChatError."""
    waiting = iter([text for text in dict.fromkeys(texts) if replies.find(text) is None])

    async def work() -> None:
        for text in waiting:
            await replies.ask(text)
            advance(1, True)

    await side_by_side(work, in_flight)


def texts_without_request(histories: Mapping[str, Sequence[Document]]) -> list[str]:
    """Return the texts of documents without a request, without duplicates, in order."""
    return list(dict.fromkeys(text.text for texts in histories.values() for text in texts if not text.request))


def write_history(histories: Mapping[str, Sequence[Document]], replies: RequestReplies, out: Path) -> Tally:
    """Write all documents atomically. A document without a request gets its synthetic request, if there is one."""
    natural, synthetic, problems = 0, 0, Counter[str]()
    with opened(out) as file:
        for user_id, documents in histories.items():
            for document in documents:
                outcome = None if document.request else replies.find(document.text)
                natural += bool(document.request)
                if outcome is not None and outcome.request:
                    document = replace(document, request=outcome.request)
                    synthetic += 1
                elif outcome is not None:
                    problems[outcome.problem or ""] += 1
                file.write(f"{format_line(user_id, document)}\n".encode())
    return Tally(natural, synthetic, dict(problems))
