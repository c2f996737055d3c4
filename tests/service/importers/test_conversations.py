from __future__ import annotations

import pytest

from service.importers.conversations import MAX_PLACES, Conversations, Said, prose, what_was_said, why_no_prose
from service.importers.requests import MAX_CHARACTERS


@pytest.mark.parametrize(
    "text",
    [
        "lol",
        "LOL!",
        "hahahaha",
        "hahah",
        "okkk",
        "ok thanks",
        "yesss",
        "hmmmm...",
        "thank you!",
        ":joy:",
        "😂😂",
        "@bob",
        "+1",
        "42",
    ],
)
def test_interjections(text):
    assert why_no_prose(text) == "no more than an interjection"


@pytest.mark.parametrize("text", ["At four.", "ok, tea then", "no thanks, I had one", "お茶にしよう", "Tea?"])
def test_what_says_something(text):
    assert why_no_prose(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("```\nboil()\n```", "only code"),
        ("```py\nboil()", "only code"),
        ("`boil()` :tea:", "no more than an interjection"),
        ("`boil()`", "only code"),
        ("https://example.org/a?b=c", "only links"),
        ("<https://example.org> https://example.org", "only links"),
        ("`boil()` https://example.org", "only links"),
        ("", None),
    ],
)
def test_code_and_links_alone(text, reason):
    assert why_no_prose(text) == reason


def test_prose_goes_without_blocks_of_code():
    assert prose("Try this:\n```\nboil()\n```\nIt is `fast`.") == "Try this:\n\nIt is `fast`."


def test_the_latest_is_kept_of_much_that_was_said():
    before = [Said(1000.0 - number, False, f"{number} " + "x" * 900) for number in range(20)]
    said = what_was_said(before, 1001.0)
    assert said is not None
    assert [part[0] for part in said.split("\n\n")] == ["1", "0"]
    assert len(said) <= MAX_CHARACTERS


def test_places_that_were_long_silent_are_forgotten():
    conversations = Conversations()
    for number in range(MAX_PLACES + 1):
        conversations.say(str(number), Said(1.0, False, "Tea?"))
    assert conversations.before("0", 2.0) is None
    assert conversations.before(str(MAX_PLACES), 2.0) == "Tea?"
