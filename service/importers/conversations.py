"""What a chat message answers: what others said in the same place in the minutes before it."""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass

from service.importers.requests import MAX_CHARACTERS

WINDOW_S = 600.0  # between two messages of one conversation
MAX_MESSAGES = 8
MAX_PLACES = 1_000  # threads and channels remembered at once
CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
CODE = re.compile(r"`[^`\n]{1,1000}`")
ADDRESS = re.compile(r"<?https?://[^\s<>]{1,4000}>?")
EMOJI_NAME = re.compile(r":[\w+-]{1,60}:")
MENTION = re.compile(r"[@#][\w.-]{1,80}")
LETTER = re.compile(r"[^\W\d_]")
WORD = re.compile(r"[\w+']{1,60}")
MAX_INTERJECTIONS = 3
# laughter, agreement, thanks and greetings say nothing of a manner; of the lengthened ones the stem stands here
INTERJECTIONS = {
    *("lol", "lmao", "rofl", "lul", "xd", "kek", "jaja", "haha", "hehe", "hihi", "ha", "heh", "hah", "mdr", "ptdr"),
    *("ok", "okay", "okey", "oki", "k", "kk", "yes", "yep", "yup", "yeah", "yea", "ya", "yay", "no", "nope", "nah"),
    *("ja", "jo", "nee", "nein", "oui", "si", "non", "da", "sure", "right", "true", "same", "this", "exactly"),
    *("indeed", "thx", "ty", "tysm", "thanks", "thank", "you", "danke", "merci", "gracias", "np", "yw", "nice"),
    *("cool", "great", "wow", "omg", "oh", "ah", "aha", "ooh", "uh", "um", "hm", "hmm", "huh", "meh", "oof", "gg"),
    *("ikr", "idk", "brb", "afk", "wtf", "pls", "please", "hi", "hey", "hello", "hallo", "hola", "yo", "sup"),
    *("morning", "bye", "cya", "gn", "gm", "done", "ack", "lgtm", "roger", "fyi", "test", "ping", "pong", "sorry"),
    *("oops", "ups", "bump", "w", "f"),
}


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a conversation; ``own`` where the user wrote it."""

    time: float
    own: bool
    text: str


def what_was_said(before: Iterable[Said], time: float) -> str | None:
    """What others said last before a message of that time, the latest at the end; ``before`` runs backwards.

    One's own messages directly before belong to the same answer; the one before what others said ends it.
    """
    heard: list[str] = []
    length = 0
    for message in before:
        if abs(time - message.time) > WINDOW_S or (message.own and heard):
            break
        time = message.time
        if not message.own and message.text.strip():
            length += len(message.text) + 2
            if heard and length > MAX_CHARACTERS:
                break
            heard.append(message.text.strip())
            if len(heard) == MAX_MESSAGES:
                break
    return "\n\n".join(reversed(heard)) or None


class Conversations:
    """The latest messages of each place (a channel, a thread), in memory that does not grow with the export."""

    def __init__(self) -> None:
        self._places: OrderedDict[str, deque[Said]] = OrderedDict()

    def say(self, place: str, message: Said) -> None:
        self._places.setdefault(place, deque(maxlen=4 * MAX_MESSAGES)).append(message)
        self._places.move_to_end(place)
        if len(self._places) > MAX_PLACES:
            self._places.popitem(last=False)

    def before(self, place: str, time: float) -> str | None:
        """What others said there before a message of that time."""
        return what_was_said(reversed(self._places.get(place, ())), time)


def prose(text: str) -> str:
    """The message without blocks of code."""
    return re.sub(r"\n{3,}", "\n\n", CODE_BLOCK.sub("", text)).strip()


def why_no_prose(text: str) -> str | None:
    """The reason why a message is no document; None for one that says something in words."""
    if not text.strip():
        return None  # that is no text at all
    without_code = CODE.sub(" ", CODE_BLOCK.sub(" ", text))
    if without_code != text and not LETTER.search(without_code):
        return "only code"
    without_links = ADDRESS.sub(" ", without_code)
    if without_links != without_code and not LETTER.search(without_links):
        return "only links"
    words = WORD.findall(MENTION.sub(" ", EMOJI_NAME.sub(" ", without_links)).lower())
    if len(words) <= MAX_INTERJECTIONS and all(_is_interjection(word) for word in words):
        return "no more than an interjection"
    return None


def _is_interjection(word: str) -> bool:
    """True for "lol", "hahaha", "okkk", "hmmmm", and for numbers."""
    once = re.sub(r"(.)\1+", r"\1", word)
    stem = re.sub(r"(ha|he|hi|ja|lo){2,}\w?$", r"\1\1", word)
    return not LETTER.search(word) or bool({word, once, stem} & INTERJECTIONS) or once in ONCE


# as it is where each letter stands once
ONCE = {re.sub(r"(.)\1+", r"\1", word) for word in INTERJECTIONS}
