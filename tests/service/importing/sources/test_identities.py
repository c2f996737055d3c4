from __future__ import annotations

import pytest

from service.importing.sources.identities import Identities, Sender


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
        ("Zo\u00eb", "Zoe\u0308", True),
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


def test_who_else_writes_there_is_counted_and_shown_with_name_and_address():
    people = Identities(("ann@example.org", "Ann Leigh"))
    for name, address in [("Bob", "bob@example.org")] * 3 + [("", "carl@example.org"), ("Ann Lee", "ann@example.org")]:
        people.match(name, address)
    assert people.unmatched == ("Ann Leigh",)
    assert people.commonest_others() == (Sender("Bob <bob@example.org>", 3), Sender("carl@example.org", 1))
    assert str(people.commonest_others(1)[0]) == "Bob <bob@example.org> (3)"


def test_names_that_the_source_itself_gives_are_one_identity():
    people = Identities(())
    people.add("ann@example.org", "Ann Lee")
    assert people.match("ANN@example.org")
    assert people.unmatched == ()


def test_a_source_that_names_nobody_says_nothing_about_me():
    assert Identities(("ann",)).unmatched == ()


def test_a_name_of_several_accounts_is_told():
    people = Identities(("Ann", "bob@example.org"))
    for address in ["ann@example.org"] * 3 + ["Ann@example.ORG", "other@example.org"]:
        people.match("Ann", address, account=address)
    people.match("Bob", "bob@example.org", account="bob@example.org")
    assert list(people.several()) == [
        "'Ann' is 2 accounts in it: Ann <ann@example.org> (4), Ann <other@example.org> (1). If one is somebody else's, "
        "undo this import and name yours with --me."
    ]


def test_a_name_of_accounts_that_were_all_given_is_not():
    people = Identities(("Ann", "ann@example.org", "ann@example.com"))
    for address in ("ann@example.org", "Ann@example.com"):
        people.match("Ann", address, account=address)
    assert not list(people.several())
