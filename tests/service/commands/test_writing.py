"""What the terminal shows while a draft is read and written."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console
from rich.status import Status

from pearl.models.chat.base import PromptRead
from service.commands.writing import WAITING, _Screen
from service.drafting.drafter import Delta, Event

CLEARED = "\r"  # on a terminal with the sequence that erases the line, which typer leaves out elsewhere


@pytest.fixture
def screen() -> _Screen:
    """A screen of a terminal that is 70 characters wide; standard output is one, too."""
    made = _Screen(lambda draft_id: None, silent=False)
    made.text_in_sight = True
    made.status = Status(WAITING, console=Console(file=io.StringIO(), force_terminal=True, width=70))
    return made


def told(screen: _Screen, event: Event) -> str:
    """The line that stands on the terminal behind an event."""
    screen.take(event)
    assert screen.status is not None
    return str(screen.status.status)


def test_reading_shows_beside_what_is_known_by_rule(screen: _Screen, capsys: Any) -> None:
    with screen.waiting():
        screen.take(Delta("Hello Nan,\n\nThank [b]you"))
        assert capsys.readouterr().out == "Hello Nan,\n\nThank [b]you"
        reading = "Thank \\[b]you [dim]Reading: 25% of 1,024 tokens, about 18 s left...[/]"
        assert told(screen, PromptRead(256, 1024, 18.2)) == reading
        assert told(screen, PromptRead(1024, 1024, 0.0)) == "Thank \\[b]you [dim]Writing...[/]"
        screen.take(Delta(" for\nthe rails."))
    assert capsys.readouterr().out == f"{CLEARED}Thank [b]you for\nthe rails."


def test_before_a_text_it_shows_alone_and_with_no_room_not_at_all(screen: _Screen, capsys: Any) -> None:
    alone = " [dim]Reading: 0% of 100 tokens...[/]"
    with screen.waiting():
        assert told(screen, PromptRead(0, 100)) == alone
        screen.take(Delta("a" * 60))
        assert told(screen, PromptRead(50, 100, 1.0)) == alone  # as it was
        screen.take(Delta("b"))
    assert capsys.readouterr().out == "a" * 60 + "b"


def test_a_silent_screen_shows_reading_and_no_text(screen: _Screen, capsys: Any) -> None:
    screen.silent = True
    with screen.waiting():
        assert told(screen, PromptRead(50, 100, 1.0)) == " [dim]Reading: 50% of 100 tokens, about 1 s left...[/]"
        screen.take(Delta("a text"))
    assert capsys.readouterr().out == ""
