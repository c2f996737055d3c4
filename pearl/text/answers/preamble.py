"""Finds where the draft begins in an answer: after the opening mark, or after the model's words about the text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pearl.text.phrases import Phrases

OPENS = re.compile(r"<(document|draft|answer|output|response)(?:[ \t][^<>\n]{0,60})?>", re.IGNORECASE)
OURS = re.compile(r"<(?:document|draft)(?:[ \t][^<>\n]{0,60})?>", re.IGNORECASE)
ECHO = re.compile(r"<request(?:[ \t][^<>\n]{0,60})?>", re.IGNORECASE)
ECHO_END = re.compile(r"</request>", re.IGNORECASE)
ENDS = re.compile(
    r"</(?:document|draft|request)>|<\|(?:im_end|im_start|eot_id|end|endoftext|end_of_text|return)\|>|<end_of_turn>",
    re.IGNORECASE,
)
MARKS = (
    *(f"<{name}" for name in ("document", "draft", "request", "answer", "output", "response")),
    *(f"</{name}>" for name in ("document", "draft", "request", "answer", "output", "response")),
    *(f"<|{name}|>" for name in ("im_end", "im_start", "eot_id", "end", "endoftext", "end_of_text", "return")),
    "<end_of_turn>",
)
LONGEST_MARK = 80  # characters, attributes included
LEAD = 240  # characters that may be a model's words before the text, where a mark does not follow
MOST_MARKS = 20  # and words before the text: more of them are a model that repeats itself
LONGEST_LEAD = 1000  # of paragraphs that say themselves that they are a model's

PHRASES = Phrases.of("pearl", "answers")
PREAMBLE = PHRASES.compile(
    r"[*_ \t]*(?:(?:{assents}[!.,:;]*[ \t]+(?:[^\n<]{0,80}[ \t])?{announcements}\b[^\n<]{0,80}\b{kinds}\b"
    r"|{announcements}\b[^\n<]{0,60}\b(?:{revised}|{kinds}\b[^\n<]{0,60}\b{yours})\b)[^\n<]{0,80}:[*_]*[ \t]*(?:\n|$)"
    r"|{assents}[!.,:;]*[ \t]+{handed_over}[:!.]*[ \t]*(?:\n|$))"
)
LABEL = PHRASES.compile(r"[#*_> \t]*{labels}[*_ \t]*(?:\n|$)")
TALK = PHRASES.compile(r"[*_ \t]*{talk}")
FENCE = re.compile(r"[ \t]*+(`{3,}+|~{3,}+)[ \t]*+([\w.+-]*+)[ \t]*+(?:\n|$)")
UNFINISHED_FENCE = re.compile(r"(?:`{1,2}|~{1,2}|(?:`{3,}+|~{3,}+)[ \t]*+[\w.+-]{0,20}[ \t]*+)$")
MARKDOWN = frozenset({"markdown", "md"})
PLAIN = MARKDOWN | {"text", "txt", "plaintext", "plain", "email", "message", "document", "draft"}
RULE = re.compile(r"(?:-{3,}|\*{3,}|_{3,})[ \t]*(?:\n|$)")
BLANK_LINE = re.compile(r"\n[ \t]*\n")
BREAK = re.compile(r"\n[ \t]*\n\s*")


@dataclass(frozen=True, slots=True)
class Beginning:
    """The place where the text starts, and the marks that may end it.

    ``closing``: the mark that ends the text after an opening mark of the model's own; ``fence``: a code fence around
    it; ``undecided``: only the end shows if the fence is around it; ``talked``: the model wrote about it first.
    """

    start: int = 0
    marked: bool = False
    closing: str = ""
    fence: str = ""
    markdown: bool = False
    undecided: bool = False
    talked: bool = False


def beginning(text: str, *, final: bool) -> Beginning | None:
    """Find where the draft begins; None while more of the answer is needed to tell."""
    at = Beginning()
    for _ in range(MOST_MARKS):
        at = replace(at, start=at.start + len(text[at.start :]) - len(text[at.start :].lstrip()))
        step = _step(text, at, final=final)
        if step is None or step == at:
            return step
        at = step
    return at


def _step(text: str, at: Beginning, *, final: bool) -> Beginning | None:
    """Move past one thing that is not the draft; return ``at`` itself where the draft begins, None to read more."""
    rest = text[at.start :]
    if not rest or (not final and (could_be_mark(rest) or UNFINISHED_FENCE.match(rest))):
        return at if final else None
    if mark := OPENS.match(rest):
        closing = "" if OURS.match(mark[0]) else f"</{mark[1].lower()}>"
        return replace(at, start=at.start + mark.end(), marked=True, closing=closing)
    if ECHO.match(rest):
        return _past_echo(text, at, final=final)
    if mark := ENDS.match(rest):
        return _past_end(text, at, mark.end(), final=final)
    if mark := FENCE.match(rest):
        return _past_fence(text, at, mark, final=final)
    return at if at.marked or at.fence else _past_words(rest, at, final=final)


def _past_echo(text: str, at: Beginning, *, final: bool) -> Beginning | None:
    """Move past a repetition of the request; if nothing else follows, the text between its marks is the draft."""
    rest = text[at.start :]
    inside = ECHO.match(rest)
    assert inside is not None
    opened, closed = OURS.search(rest), ECHO_END.search(rest)
    if opened and not (closed and closed.start() < opened.start()):
        return replace(at, start=at.start + opened.start())
    if closed and rest[closed.end() :].strip():
        return replace(at, start=at.start + closed.end())
    return replace(at, start=at.start + inside.end(), marked=True) if final else None


def _past_end(text: str, at: Beginning, length: int, *, final: bool) -> Beginning | None:
    """Move past a closing mark before any text. After an opening mark, the draft begins at the next opening mark."""
    if not at.marked:
        return replace(at, start=at.start + length)
    opened = OURS.search(text, at.start)
    if opened:
        return replace(at, start=opened.start())
    return replace(at, start=len(text)) if final else None


def _past_fence(text: str, at: Beginning, fence: re.Match[str], *, final: bool) -> Beginning | None:
    within, info = at.start + fence.end(), fence[2].lower()
    around = replace(at, start=within, fence=fence[1], markdown=info in MARKDOWN)
    following = text[within:].lstrip()
    if info in PLAIN or (not info and at.talked) or OPENS.match(following):
        return around
    if not final and (not following or could_be_mark(following)):
        return None
    return at if info else replace(at, undecided=True)


def _past_words(rest: str, at: Beginning, *, final: bool) -> Beginning | None:
    """Move past the model's words about the text: words that can be nothing else, and any before an opening mark."""
    words = LABEL.match(rest) or PREAMBLE.match(rest) or (RULE.match(rest) if at.talked else None)
    if words and words.end() <= LEAD:
        if words[0].endswith("\n") or final:
            return replace(at, start=at.start + words.end(), talked=True)
        return None
    most = _longest_lead(rest)
    opened = OURS.search(rest)
    if opened and opened.start() <= most:
        closed = ENDS.search(rest)
        return at if closed and closed.start() < opened.start() else replace(at, start=at.start + opened.start())
    tail = unfinished_mark(rest)
    waiting = len(rest) <= most or (tail > 0 and len(rest) - tail <= most)
    return None if waiting and not final and not ENDS.search(rest) else at


def _longest_lead(rest: str) -> int:
    """The length of a beginning that may be the model's words: paragraphs that look like them, and one more."""
    place = 0
    while place < LONGEST_LEAD:
        blank = BREAK.search(rest, place)
        if blank is None or blank.start() - place > LEAD:
            return place + LEAD
        if not TALK.match(rest, place):
            return blank.end()
        place = blank.end()
    return place


def could_be_mark(text: str) -> bool:
    """True for a text that may become a mark when more of it comes."""
    low = text.lower()
    if any(mark.startswith(low) for mark in MARKS):
        return True
    opened = next((mark for mark in MARKS if not mark.endswith(">") and low.startswith(mark)), None)
    if opened is None or len(text) > LONGEST_MARK or re.search(r"[<>\n]", text[1:]):
        return False
    return text[len(opened)] in " \t"


def unfinished_mark(text: str) -> int:
    """Return the length of a text's end that may still become a mark."""
    place = text.rfind("<", max(0, len(text) - LONGEST_MARK))
    return len(text) - place if place >= 0 and could_be_mark(text[place:]) else 0
