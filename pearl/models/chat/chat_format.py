"""Turning messages into tokens by a model's chat format. Text in a message never becomes a control token."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pearl.errors import ChatError
from pearl.models.chat.base import Message
from pearl.text.fences import APART

# what stands for a message's text while the template is applied, between blanks that a template which trims takes away
BLANK = "\v"
STAND_IN = re.compile(f"({BLANK}?)\ue000(\\d+)\ue001({BLANK}?)")
WRITTEN = re.compile(r"\[/?[A-Z_]+\]|<</?[A-Z]+>>|<\|[^|<>\s]+\|>|</?[a-z_]+>")

Tokenize = Callable[[str], list[int]]  # of a text, in which nothing becomes a control token
Apply = Callable[[Sequence[Message]], str]  # the template, up to where the answer begins


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """The chat format of a model. The template is applied to placeholders for the messages' texts, so that only the
    template's own marks become control tokens; texts between two of them are tokenized as plain text."""

    apply: Apply
    tokenize: Tokenize
    marks: Mapping[str, int]  # the control tokens, by how they are written
    begin: Sequence[int] = ()  # tokens at the beginning of every prompt

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """Return a conversation's tokens. If the last message is the assistant's, the model is to continue it.

        Raises ChatError if the template leaves a message out.
        """
        begun = messages[-1].content if messages[-1].role == "assistant" else ""
        turns = messages[:-1] if begun else messages
        stand_ins = [Message(message.role, f"{BLANK}\ue000{index}\ue001{BLANK}") for index, message in enumerate(turns)]
        pieces = self._pieces(self.apply(stand_ins))
        written = {mark for piece in pieces if isinstance(piece, str) for mark in WRITTEN.findall(piece)}
        tokens, text, said = list(self.begin), "", set()
        for piece in pieces:
            if isinstance(piece, int):
                tokens += [*self._plain(text), piece]
                text = ""
            elif isinstance(piece, str):
                text += piece
            else:
                content = _broken(turns[int(piece[2])].content, written)
                content = content if piece[1] else content.lstrip()
                text += content if piece[3] else content.rstrip()
                said.add(int(piece[2]))
        if missing := set(range(len(turns))) - said:
            role = turns[min(missing)].role
            raise ChatError(f"The model's chat template leaves out a message of the {role}.", code="llm_failed")
        tokens += self._plain(text + _broken(begun, written))
        twice = tokens[len(self.begin) : 2 * len(self.begin)] == list(self.begin)
        return tokens[len(self.begin) :] if twice else tokens

    def _pieces(self, applied: str) -> list[int | str | re.Match[str]]:
        """A conversation's control tokens, plain texts of the template, and stand-ins of the messages."""
        marks = sorted(filter(None, self.marks), key=len, reverse=True)
        pattern = "|".join((f"(?P<stand_in>{STAND_IN.pattern})", *map(re.escape, marks)))
        pieces: list[int | str | re.Match[str]] = []
        end = 0
        for match in re.finditer(pattern, applied):
            pieces.append(applied[end : match.start()])
            stand_in = STAND_IN.fullmatch(match[0])
            pieces.append(stand_in or self.marks[match[0]])
            end = match.end()
        return [*pieces, applied[end:]]

    def _plain(self, text: str) -> list[int]:
        """The tokens of a text. Written control tokens that the tokenizer still reads as such are cut."""
        if not text:
            return []
        tokens = self.tokenize(text)
        if not set(tokens) & set(self.marks.values()):
            return tokens
        cut = "|".join(f"(?<={re.escape(mark[0])})(?={re.escape(mark[1:])})" for mark in self.marks if mark in text)
        return [token for part in (re.split(cut, text) if cut else [text]) for token in self.tokenize(part)]


def _broken(text: str, marks: Iterable[str]) -> str:
    """The text with the marks broken that the template writes in usual tokens, as Llama 2's does with [INST]: no
    tokenizer could tell them from a text's own."""
    for mark in marks:
        text = text.replace(mark, f"{mark[0]}{APART}{mark[1:]}")
    return text
