"""Removes reasoning before an answer as it streams, in the forms that popular models use."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pearl.text.answers.preamble import PHRASES

_NAMES = (
    *("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad", "analysis"),
    *("antthinking", "seed:think"),
)
_CHANNELS = ("analysis", "commentary", "thought")
OPENING_MARKS = (
    *(f"<{name}>" for name in _NAMES),
    *("[think]", "◁think▷", "<|begin_of_thought|>", "<|start_thinking|>", "<|thinking|>", "<|think|>"),
    *(f"<|channel{bar}>{name}" for name in _CHANNELS for bar in ("|", "")),
)
CLOSING_MARKS = (
    *(f"</{name}>" for name in _NAMES),
    *("[/think]", "◁/think▷", "<|end_of_thought|>", "<|end_thinking|>", "<|/thinking|>", "<|/think|>"),
    *("<|channel|>final<|message|>", "<channel|>", "</details>"),
)
_DETAILS = '<details type="reasoning"'  # and more attributes
_CLOSES = "|".join(map(re.escape, CLOSING_MARKS))
CLOSES = re.compile(_CLOSES, re.IGNORECASE)
# both kinds in one search, which ends at the first: the rest of a text that has one kind only is not read at each mark
MARKS = re.compile(
    "|".join((rf"{_DETAILS}[^<>\n]{{0,60}}>", *map(re.escape, OPENING_MARKS), f"(?P<closes>{_CLOSES})")), re.IGNORECASE
)
LONGEST_MARK = 90  # characters
# how models begin to think where the chat format has set the opening mark already: only the closing one comes
UNMARKED = PHRASES.compile(r"(?:{hesitations}\b[,.!…]*\s+){0,3}{thinking}\b")
MAYBE_UNMARKED = PHRASES.compile(r"{thinking_begins}\b|[a-z]{0,7}\Z")
TELLING = 60  # characters that tell unmarked reasoning
LINE_OF_MARKS = re.compile(r"[ \t]*(?:</?\w+>[ \t]*)*\Z")


class ReasoningFilter:
    """Takes an answer in pieces and returns the text that is not reasoning.

    Marks count at the beginning of a line and outside of code blocks: elsewhere a text only mentions them. An answer
    that begins like reasoning is held back until a closing mark or the end. ``leaked``: a closing mark without an
    opening one showed that the text before it, already returned, was reasoning; with ``hold`` nothing is returned
    before such a mark.
    """

    def __init__(self, *, hold: bool = False) -> None:
        self._hold = hold
        self._waiting = Held()
        self._held = ""  # what is waiting, while it is looked at
        self._begun = False  # it is decided whether the beginning is unmarked reasoning
        self._given = CodeLines()
        self._gave = False  # more than blanks
        self._depth = 0
        self._aside: list[str] = []  # the reasoning since a mark last closed
        self._aside_lines = CodeLines()
        self._closed_inside = False
        self.leaked = False

    def feed(self, text: str) -> str:
        """Take more of the answer; return the part that has become certain."""
        return self._take(final=False) if self._waiting.add(text) else ""

    def finish(self) -> str:
        """Return held-back text that is no reasoning; of reasoning without an end, the part after its last mark."""
        text = self._take(final=True)
        if not self._depth:
            return text
        aside = "".join(self._aside)
        opened = 0 if self._closed_inside else aside.lower().rfind("<document>")
        return text + (aside[opened:] if opened >= 0 else "")

    def _take(self, *, final: bool) -> str:
        self._held = self._waiting.text()
        certain, more = "", True
        while more:
            if self._depth:
                more = self._think(final=final)
            elif not self._begun:
                more = self._begin(final=final)
            else:
                more, text = self._pass(final=final)
                certain += text
        self._waiting.keep(self._held)
        return certain

    def _begin(self, *, final: bool) -> bool:
        """Skip reasoning without an opening mark; False if more text is needed to tell."""
        start = self._held.lstrip()
        if self._hold or UNMARKED.match(start):
            if closed := CLOSES.search(self._held):
                self._held = self._held[closed.end() :]
            elif not final:
                return False
        elif not final and (not start or (len(start) < TELLING and MAYBE_UNMARKED.match(start))):
            return False
        self._begun = True
        return True

    def _think(self, *, final: bool) -> bool:
        """Skip to the end of the reasoning; False if it has not come yet."""
        place = 0
        while self._depth and (mark := MARKS.search(self._held, place)):
            self._put_aside(self._held[place : mark.start()])
            place = mark.end()
            if mark["closes"]:
                self._depth -= 1
                self._aside, self._aside_lines, self._closed_inside = [], CodeLines(), True
            elif _of_marks(self._aside_lines.after("").line):
                self._depth += 1
        self._held = self._held[place:]
        if not self._depth:
            self._closed_inside, self._given = False, CodeLines()
            return True
        keep = 0 if final else _unfinished(self._held)
        self._put_aside(self._held[: len(self._held) - keep])
        self._held = self._held[len(self._held) - keep :]
        return False

    def _put_aside(self, text: str) -> None:
        self._aside.append(self._aside_lines.take(text))

    def _pass(self, *, final: bool) -> tuple[bool, str]:
        """Return True and the text before the next mark of reasoning, or False and the text certain so far."""
        place, text = 0, ""
        while mark := MARKS.search(self._held, place):
            before = self._held[place : mark.start()]
            if mark[0].lower() != "</details>" and self._begins_a_line(before):
                self._held = self._held[mark.end() :]
                text += self._give(before)
                if mark["closes"]:
                    self.leaked |= self._gave
                else:
                    self._depth, self._aside, self._aside_lines = 1, [], CodeLines()
                return True, text
            text += self._give(before + mark[0])
            place = mark.end()
        self._held = self._held[place:]
        keep = 0 if final else _unfinished(self._held)
        if keep and not self._begins_a_line(self._held[: len(self._held) - keep]):
            keep = 0
        ready, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return False, text + self._give(ready)

    def _begins_a_line(self, before: str) -> bool:
        place = self._given.after(before)
        return not place.in_block and _of_marks(place.line)

    def _give(self, text: str) -> str:
        self._gave |= bool(text.strip())
        return self._given.take(text)


def without_reasoning(answer: str) -> str:
    """Return a whole answer without the reasoning in it."""
    for hold in (False, True):
        reasoning = ReasoningFilter(hold=hold)
        text = reasoning.feed(answer) + reasoning.finish()
        if not reasoning.leaked:
            break
    return text


def _of_marks(line: str) -> bool:
    return len(line) <= LONGEST and LINE_OF_MARKS.match(line) is not None


def _unfinished(text: str) -> int:
    """Length of an end that may still become a mark."""
    end = text[-LONGEST_MARK:].lower()
    for position, character in enumerate(end):
        if character in "<[◁":
            tail = end[position:]
            attributes = tail.startswith(_DETAILS) and not re.search(r"[<>\n]", tail[1:])
            if attributes or any(mark.startswith(tail) for mark in (_DETAILS, *OPENING_MARKS, *CLOSING_MARKS)):
                return len(end) - position
    return 0


SHORT = 500  # characters that may be looked at whenever a piece comes
PART = 16  # a longer text is looked at again when it has grown by one part in so many


class Held:
    """Text collected from pieces, to be examined only when it has grown by a certain part: examining all of it at each
    piece would take quadratic time."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._looked_at = 0

    def add(self, text: str) -> bool:
        """Add a piece; return True when the text is to be examined."""
        self._pieces.append(text)
        self._length += len(text)
        return self._length <= SHORT or PART * (self._length - self._looked_at) >= self._looked_at

    def text(self) -> str:
        """Return all the text held, and note that it was examined."""
        self._pieces = ["".join(self._pieces)]
        self._looked_at = self._length
        return self._pieces[0]

    def keep(self, text: str) -> None:
        """Replace the text held by this."""
        self._pieces, self._length, self._looked_at = [text], len(text), len(text)


FENCE_START = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
LONGEST = 1000  # characters of a line that are kept: it is looked at wherever a mark stands in it


@dataclass(frozen=True, slots=True)
class CodePosition:
    """A position in a text. ``line``: its line up to here, cut after about LONGEST characters; ``quoted``: a backtick
    is open in the line; ``in_block``: a code block is open."""

    line: str = ""
    quoted: bool = False
    in_block: bool = False


class CodeLines:
    """Follows a text in pieces to tell whether the position after it is in code."""

    def __init__(self) -> None:
        self._place = CodePosition()

    def after(self, text: str) -> CodePosition:
        """Return the position after more text, without adding that text."""
        now = self._place
        head, newline, rest = text.partition("\n")
        line = (now.line + head[: LONGEST + 1])[: LONGEST + 1]
        quoted = now.quoted ^ bool(head.count("`") % 2)
        fences = bool(FENCE_START.match(line)) - bool(FENCE_START.match(now.line))
        if newline:
            fences += len(FENCE_START.findall(rest))
            last = rest.rpartition("\n")[2]
            line, quoted = last[: LONGEST + 1], bool(last.count("`") % 2)
        return CodePosition(line, quoted, now.in_block ^ bool(fences % 2))

    def take(self, text: str) -> str:
        self._place = self.after(text)
        return text
