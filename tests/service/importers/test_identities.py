from __future__ import annotations

import pytest

from service.importers.identities import Identities


@pytest.mark.parametrize(
    ("me", "name", "same"),
    [
        ("ann@example.org", "Ann@Example.ORG", True),
        ("Ann Lee", "ann  lee", True),
        ("Ann Lee <ann@example.org>", "ann@example.org", True),
        ("Ann Lee <ann@example.org>", "Ann Lee", True),
        ("@ann_lee", "ann_lee", True),
        ("ann_lee", "u/Ann_Lee", True),
        ("STRASSE", "straße", True),
        ("ann", "anna", False),
        ("ann@example.org", None, False),
        ("ann@example.org", "", False),
        ("", "", False),
    ],
)
def test_match(me, name, same):
    assert Identities((me,)).match(name) is same


def test_any_of_several_names_will_do():
    assert Identities(("U1", "ann")).match(None, "Bob", "ANN")
    assert not Identities(()).match("ann")
    assert not Identities(())
