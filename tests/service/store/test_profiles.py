"""What a person says of the lines of their profile."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from pearl.errors import InputError, NotFound
from service.histories.profile import choose_line, profile_of, use_as_instructions
from service.store import profiles, users, voices
from service.store.database import Database
from service.store.profiles import CONFIRMED, CORRECTED, STRUCK, LineChoice, StoredProfile

CHOICES = {"dashes": LineChoice(STRUCK), "words": LineChoice(CORRECTED, "Keep it under 80 words.")}


@pytest.fixture
def ann(database: Database) -> int:
    with database.write() as connection:
        user = users.ensure(connection, {"ann", "ben"})["ann"].id
        voices.ensure(connection, {user: {"email"}})
    return user


def test_choices_are_kept_by_voice(database: Database, ann: int) -> None:
    with database.write() as connection:
        profiles.put(connection, ann, StoredProfile("email", True, CHOICES, 5.0))
        profiles.put(connection, ann, StoredProfile(None, False, {"i": LineChoice(CONFIRMED)}, 6.0))
    with database.read() as connection:
        assert profiles.get(connection, ann, "email") == StoredProfile("email", True, CHOICES, 5.0)
        assert [each.voice for each in profiles.of_user(connection, ann)] == [None, "email"]
        assert profiles.get(connection, ann + 1, "email") == StoredProfile("email")
    with database.write() as connection:
        profiles.put(connection, ann, StoredProfile("email", False, {}, 7.0))
        assert profiles.get(connection, ann, "email").lines == {}
        profiles.remove(connection, ann, None)
        assert profiles.get(connection, ann, None).changed_at is None


def test_they_go_with_their_voice_and_their_user(database: Database, ann: int) -> None:
    with database.write() as connection:
        for voice in ("email", None):
            profiles.put(connection, ann, StoredProfile(voice, True, CHOICES))
        with pytest.raises(NotFound):
            profiles.put(connection, ann, StoredProfile("blog"))
        voices.remove(connection, ann, "email")
        assert [each.voice for each in profiles.of_user(connection, ann)] == [None]
        users.remove(connection, ann)
        assert list(profiles.of_user(connection, ann)) == []
        with pytest.raises(NotFound):
            profiles.put(connection, ann, StoredProfile(None))


def test_lines_chosen_at_the_same_moment_all_stay(database: Database, ann: int, at_once: Any) -> None:
    names = [f"line {number}" for number in range(8)]
    with database.write() as connection:
        corrected = {name: LineChoice(CORRECTED, "Mine.") for name in names}
        profiles.put(connection, ann, StoredProfile("email", False, corrected))

    with database.read() as connection:
        card = profile_of(connection, ann, "email")  # as all of them saw it

    def strike(name: str) -> None:
        with database.write() as connection:
            choose_line(connection, ann, card, name, LineChoice(STRUCK))

    def stand() -> None:
        with database.write() as connection:
            use_as_instructions(connection, ann, card, True)

    assert at_once([*(partial(strike, name) for name in names), stand]) == [None] * 9
    with database.read() as connection:
        stored = profiles.get(connection, ann, "email")
    assert stored.standing
    assert {choice.state for choice in stored.lines.values()} == {STRUCK}


def test_an_exported_profile_comes_back_once(database: Database, ann: int) -> None:
    with database.write() as connection:
        profiles.put(connection, ann, StoredProfile("email", True, CHOICES, 5.0))
        (line,) = [each.to_json() for each in profiles.of_user(connection, ann)]
        assert profiles.restore(connection, ann, line) is False
        profiles.remove(connection, ann, "email")
        assert profiles.restore(connection, ann, line) is True
        assert profiles.get(connection, ann, "email").lines == CHOICES


@pytest.mark.parametrize(
    ("line", "param"),
    [
        ({"standing": "yes", "lines": {}}, "lines"),
        ({"standing": True, "lines": []}, "lines"),
        ({"standing": True, "lines": {"dashes": {"state": "loved"}}}, "state"),
        ({"standing": True, "lines": {"dashes": "struck"}}, "state"),
        ({"standing": True, "lines": {"dashes": {"state": "corrected"}}}, "text"),
        ({"standing": True, "lines": {"dashes": {"state": "struck", "text": "x"}}}, "text"),
        ({"standing": True, "lines": {"": {"state": "struck"}}}, "name"),
        ({"standing": True, "lines": {}, "voice": ""}, "voice"),
    ],
)
def test_what_is_no_profile(database: Database, ann: int, line: dict[str, Any], param: str) -> None:
    with database.write() as connection, pytest.raises(InputError) as error:
        profiles.restore(connection, ann, {"voice": None} | line)
    assert error.value.param == param
