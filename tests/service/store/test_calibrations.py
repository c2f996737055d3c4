from __future__ import annotations

from typing import Any

import pytest

from pearl.errors import NotFound
from service.store import calibrations, users, voices
from service.store.calibrations import CalibrationKey, StoredCalibration

WHOLE = CalibrationKey(None, "bm25", "m")
EMAIL = CalibrationKey("email", "bm25", "m")


@pytest.fixture
def kept(database: Any, ann: Any) -> Any:
    with database.write() as connection:
        voices.put(connection, ann.id, "email", {})
        for number, key in enumerate((WHOLE, EMAIL)):
            made = StoredCalibration(f"c{number}", key, {"threshold": None, "k": 2}, {"texts": 30}, 10.0 + number)
            calibrations.put(connection, ann.id, made)
    return ann


def found(database: Any, person: Any, key: CalibrationKey) -> str | None:
    with database.read() as connection:
        calibration = calibrations.find(connection, person.id, key)
    return None if calibration is None else calibration.id


def test_one_is_found_by_its_combination_alone(database: Any, kept: Any, bob: Any) -> None:
    assert (found(database, kept, WHOLE), found(database, kept, EMAIL)) == ("c0", "c1")
    others = CalibrationKey("blog", "bm25", "m"), CalibrationKey(None, "dense", "m"), CalibrationKey(None, "bm25", "n")
    assert [found(database, kept, key) for key in others] == [None] * 3
    assert found(database, bob, WHOLE) is None


def test_a_new_one_takes_the_place_of_the_old_one(database: Any, kept: Any) -> None:
    with database.write() as connection:
        calibrations.put(connection, kept.id, StoredCalibration("c2", WHOLE, {"threshold": "all"}, {}, 12.0))
        assert [each.id for each in calibrations.of_user(connection, kept.id)] == ["c1", "c2"]
        assert calibrations.of_voice(connection, kept.id, None)[0].settings == {"threshold": "all"}


def test_deleting_the_voice_or_the_user_deletes_it(database: Any, kept: Any, rows: Any) -> None:
    with database.write() as connection:
        voices.remove(connection, kept.id, "email")
    assert (found(database, kept, WHOLE), found(database, kept, EMAIL)) == ("c0", None)
    with database.write() as connection:
        users.remove(connection, kept.id)
    assert rows("calibrations") == []


def test_none_is_kept_of_a_voice_or_a_user_that_is_gone(database: Any, kept: Any) -> None:
    with database.write() as connection:
        with pytest.raises(NotFound, match="no voice 'blog'"):
            calibrations.put(connection, kept.id, StoredCalibration("c", CalibrationKey("blog", "r", "m"), {}))
        users.remove(connection, kept.id)
        with pytest.raises(NotFound, match="deleted during the calibration"):
            calibrations.put(connection, kept.id, StoredCalibration("c", WHOLE, {}))
