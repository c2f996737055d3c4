from __future__ import annotations

import pytest

from service.importers.mails.cleaning import Patch, read_patch, unwrap, without_banners, without_images


def test_armour_that_does_not_end():
    assert unwrap("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA1\n\nTea.") == "Tea."
    assert unwrap("Tea.\n-----BEGIN PGP MESSAGE-----\nabc") == "Tea."


@pytest.mark.parametrize(
    ("text", "patch"),
    [
        ("Tea.\n---\nmore tea", None),
        ("> diff --git a/x b/x", None),
        ("See:\n\nIndex: cup.c\n=====", Patch("See:")),
        ("See:\n--- a/cup.c\n+++ b/cup.c\n", Patch("See:")),
        ("--- tea\nno diff", None),
        ("Why.\n\nCc: Bob\nAcked-by: Bob\n---\n cup.c | Bin 0 -> 4 bytes\n", Patch("Why.")),
        ("Why.\nFixes: 123\n---\n cup.c | 2 +-\n", Patch("Why.\nFixes: 123")),
        ("From: Bob <b@example.org>\n\nWhy.\n---\n cup.c | 2 +-\n", Patch("Why.", "Bob <b@example.org>")),
    ],
)
def test_patches(text, patch):
    assert read_patch(text) == patch


def test_images():
    assert without_images("a [1] b [x]") == "a [1] b [x]"
    assert without_images("[image: a]\nTea [cid:x@y] here") == "Tea here"


def test_a_warning_is_one_only_at_the_top():
    below = "Tea.\n" * 10 + "Do not click links.\n"
    assert without_banners(below) == below.strip()
    assert without_banners("[EXTERNAL]\nTea.") == "Tea."
