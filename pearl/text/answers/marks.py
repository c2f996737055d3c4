"""The draft in an answer: the text between the marks that the prompt asks for or, without marks, the answer without the
model's own words around the text. The result is the same whether the answer comes whole or in pieces."""

from __future__ import annotations

import re
from typing import Protocol

from pearl.text.answers.preamble import BLANK_LINE, ENDS, PHRASES, RULE, Beginning, beginning, unfinished_mark
from pearl.text.answers.reasoning import CodeLines, Held, ReasoningFilter

OPENING, CLOSING = "<document>", "</document>"
INSIDE = r"<(?P<inside>document|draft|request)(?:[ \t][^<>\n]{0,60})?>"
HALF_MARK = 3  # characters of a mark at the end of an answer that are no text
# what was matched is not given back: a model that repeats blanks behind a fence would take minutes to read
FENCE_LINE = re.compile(r"[ \t]*+(`{3,}+|~{3,}+)[ \t]*+([^\n`]{0,100}+)\n?")
MAYBE_FENCE_LINE = re.compile(r"[ \t]*+(?:`{1,2}|~{1,2}|(?:`{3,}+|~{3,}+)[ \t]*+[^\n`]{0,100}+)?")
AROUND = re.compile(
    r"[ \t]*(`{3,}|~{3,})[ \t]*\n(?P<text>.*?)(?:(?<=\n)[ \t]*\1[`~]*[ \t]*(?:\n(?P<after>.*))?)?", re.DOTALL
)
PARAGRAPH = 300  # characters of a paragraph that are looked at
TELLING = 12  # characters that tell whether it may be addressed to the person who asked
CHATTER = PHRASES.compile(r"[*_(> \t]*{chatter}")
MAYBE_CHATTER = PHRASES.compile(r"[*_(> \t]*{chatter_begins}")


class MarkFilter:
    """Takes an answer in pieces and returns the draft in it; the results together are :func:`unfenced` of the answer.

    Text is held back only while it may still be a mark, a model's own words, or blanks at the end.
    """

    def __init__(self, *, hold_reasoning: bool = False) -> None:
        self._reasoning = ReasoningFilter(hold=hold_reasoning)
        self._held = Held()
        self._stages: tuple[Stage, ...] = ()

    @property
    def leaked(self) -> bool:
        """True if reasoning was passed on as text, since only the mark at its end told that it was reasoning."""
        return self._reasoning.leaked

    def feed(self, text: str) -> str:
        """Take more of the answer; return the part of the draft that has become certain."""
        return self._take(self._reasoning.feed(text), final=False)

    def finish(self) -> str:
        """Return the part held back, if it belongs to the draft after all."""
        return self._take(self._reasoning.finish(), final=True)

    def _take(self, text: str, *, final: bool) -> str:
        if not self._stages:
            if not self._held.add(text) and not final:
                return ""
            at = beginning(self._held.text(), final=final)
            if at is None:
                return ""
            text = self._held.text()[at.start :]
            self._held = Held()
            self._stages = _stages(at)
        for stage in self._stages:
            text = stage.take(text, final=final)
            final = final or stage.ended
        return text


def unfenced(answer: str) -> str:
    """Return the draft in a whole answer; empty if there is none."""
    for hold in (False, True):
        marks = MarkFilter(hold_reasoning=hold)
        text = marks.feed(answer) + marks.finish()
        if not marks.leaked:
            break
    return text


class Stage(Protocol):
    """A step that removes something from a text in pieces. Once it has ``ended``, nothing more comes."""

    ended: bool

    def take(self, text: str, *, final: bool) -> str:
        """Take one more piece; return the text that is certain by now."""
        ...


def _stages(at: Beginning) -> tuple[Stage, ...]:
    """The stages of processing a text that begins there."""
    around: list[Stage] = []
    if at.undecided:
        around.append(PerhapsFenced())
    elif at.fence:
        around.append(Fenced(at.fence, markdown=at.markdown))
    elif at.talked and not at.marked:
        around.append(ClosingWords())
    return (InnerMarks(at), *around, LoneFence(), Stripped())


class InnerMarks:
    """Ends the text at a mark that closes it or begins something else; a mark in mid-sentence is removed, and a mark in
    code is left as it is."""

    def __init__(self, at: Beginning) -> None:
        ends = f"{ENDS.pattern}|{at.closing}" if at.closing else ENDS.pattern
        # one search for both kinds: the rest of a text that has one kind only is not read at each mark
        self._marks = re.compile(f"{INSIDE}|{ends}", re.IGNORECASE)
        self._marked = at.marked
        self._held = ""
        self._taken = CodeLines()
        self.ended = False

    def take(self, text: str, *, final: bool) -> str:
        if self.ended:
            return ""
        self._held += text
        certain, start = "", 0
        while mark := self._marks.search(self._held, start):
            before, start = self._held[start : mark.start()], mark.end()
            place = self._taken.after(before)
            if mark["inside"] and (place.in_block or place.quoted):
                certain += self._taken.take(before + mark[0])
                continue
            certain += self._taken.take(before)
            if mark["inside"] and (place.line.strip() or not (self._marked or mark["inside"].lower() == "request")):
                continue
            self.ended = True
            return certain
        self._held = self._held[start:]
        half = unfinished_mark(self._held)
        keep = (half if half >= HALF_MARK else 0) if final else half
        ready, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return certain + self._taken.take(ready)


class AnswerLines:
    """Base of stages that read by lines. A line that may be a fence is held back until it is complete; of any other
    line the beginning goes to ``_line`` and the rest to ``_text``, which return the text to pass on."""

    def __init__(self) -> None:
        self._held = Held()
        self._mid_line = False
        self.ended = False

    def take(self, text: str, *, final: bool) -> str:
        if self.ended:
            return ""
        if not self._held.add(text) and not final:
            return ""
        certain = ""
        lines, self._held = self._held.text().split("\n"), Held()
        for place, line in enumerate(lines):
            last = place == len(lines) - 1
            if last and not final and not self._mid_line and MAYBE_FENCE_LINE.fullmatch(line):
                self._held.keep(line)
            elif line or not last:
                line += "" if last else "\n"
                certain += self._line(line) if not self._mid_line else self._text(line)
                self._mid_line = last
            if self.ended:
                break
        if final:
            self.ended = True
        return certain

    def _line(self, line: str) -> str:
        raise NotImplementedError

    def _text(self, text: str) -> str:
        raise NotImplementedError


class Fenced(AnswerLines):
    """Ends the text at the line that closes the code fence around it. A fence with a language opens an inner block; in
    Markdown a fence without a language may open one, too, if another such line follows to close it."""

    def __init__(self, fence: str, *, markdown: bool) -> None:
        super().__init__()
        self._fence = fence
        self._markdown = markdown
        self._inside = False  # a block of code is open in the text
        self._pending: list[str] = []  # from a line that closes the fence, or opens a block

    def _line(self, line: str) -> str:
        fence = FENCE_LINE.fullmatch(line)
        if fence is None or not fence[1].startswith(self._fence):
            return self._text(line)
        if fence[2]:
            self.ended = bool(self._pending)
            self._inside = True
            return "" if self.ended else line
        if self._inside:
            self._inside = False
            return line
        if self._pending:
            pending, self._pending = self._pending, []
            return "".join((*pending, line))
        if self._markdown:
            self._pending = [line]
        else:
            self.ended = True
        return ""

    def _text(self, text: str) -> str:
        if self._pending:
            self._pending.append(text)
            return ""
        return text


class LoneFence(AnswerLines):
    """Removes a fence of backticks at the end that opens an empty code block: models close a fence that they did not
    open. A fence that closes a block stays."""

    def __init__(self) -> None:
        super().__init__()
        self._open = ""  # the fence of the block of code that is open
        self._pending: list[str] = []  # a fence that opens a block, and the blanks behind it

    def _line(self, line: str) -> str:
        fence = FENCE_LINE.fullmatch(line)
        if fence is None:
            return self._text(line)
        if self._open:
            if fence[1].startswith(self._open) and not fence[2]:
                self._open = ""
            return self._text(line)
        self._open = fence[1]
        if fence[2] or not self._open.startswith("`"):
            return line
        self._pending = [line]
        return ""

    def _text(self, text: str) -> str:
        if self._pending and text.isspace():
            self._pending.append(text)
            return ""
        pending, self._pending = self._pending, []
        return "".join((*pending, text))


class PerhapsFenced:
    """Holds back a text that begins with a fence until its end, which shows if the fence is around the whole text."""

    def __init__(self) -> None:
        self._held: list[str] = []
        self.ended = False

    def take(self, text: str, *, final: bool) -> str:
        self._held.append(text)
        if self.ended or not final:
            return ""
        self.ended = True
        whole = "".join(self._held)
        around = AROUND.fullmatch(whole.rstrip() + "\n")
        after = ((around and around["after"]) or "").strip()
        return around["text"] if around and all(map(_addressed, BLANK_LINE.split(after))) else whole


class ClosingWords:
    """Removes last paragraphs that are addressed to the person who asked, not to the text's reader."""

    def __init__(self) -> None:
        self._held = Held()
        self._end: int | None = None  # of the text in what is held, if all paragraphs behind it are addressed
        self._read = 0  # characters held of complete paragraphs
        self.ended = False

    def take(self, text: str, *, final: bool) -> str:
        if self.ended:
            return ""
        if not self._held.add(text) and not final:
            return ""
        held = self._held.text()
        self.ended = final
        while blank := BLANK_LINE.search(held, self._read):
            if self._end is None or not _addressed(held[self._read : blank.start()]):
                self._end = blank.start()
            self._read = blank.end()
        last = held[self._read :]
        if self._end is None or not (_addressed(last) if final else _maybe_addressed(last)):
            certain = len(held if final else held.rstrip())
            self._end, self._read = None, 0
        else:
            certain, self._end, self._read = self._end, 0, self._read - self._end
        self._held.keep(held[certain:])
        return held[:certain]


class Stripped:
    """Removes white space around a text."""

    def __init__(self) -> None:
        self._blanks: list[str] = []
        self._begun = False
        self.ended = False

    def take(self, text: str, *, final: bool) -> str:
        if not self._begun:
            text = text.lstrip()
        ready = text.rstrip()
        if not ready:
            self._blanks.append(text)
            return ""
        before, self._blanks = self._blanks, [text[len(ready) :]]
        self._begun = True
        return "".join((*before, ready))


def _addressed(paragraph: str) -> bool:
    """True if a paragraph is addressed to the person who asked, or has no words."""
    words = paragraph.strip()
    return not words or RULE.fullmatch(words) is not None or CHATTER.match(paragraph[:PARAGRAPH]) is not None


def _maybe_addressed(last: str) -> bool:
    """True when a paragraph that is not complete may turn out to be addressed to the person who asked."""
    if len(last) > PARAGRAPH:
        return CHATTER.match(last[:PARAGRAPH]) is not None
    return bool(len(last) < TELLING or MAYBE_CHATTER.match(last) or RULE.fullmatch(last.rstrip()))
