from __future__ import annotations

import pytest

from service.importing.sources.mbox import Patch, read_patch, unwrap, without_attached, without_banners, without_images


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
        ("Why.\n\nRefs #133\n---\n cup.c | 2 +-\n", Patch("Why.")),
        ("Why.\nFixes: 123\n---\n cup.c | 2 +-\n", Patch("Why.\nFixes: 123")),
        ("From: Bob <b@example.org>\n\nWhy.\n---\n cup.c | 2 +-\n", Patch("Why.", "Bob <b@example.org>")),
    ],
)
def test_patches(text, patch):
    assert read_patch(text) == patch


def test_images():
    assert without_images("a [1] b [x]") == "a [1] b [x]"
    assert without_images("[image: a]\nTea [cid:x@y] here") == "Tea here"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('Here.\n[attachment "tea.pdf" deleted by Ann Lee/Tea]', "Here."),
        ("Here. (See attached file: tea.pdf)", "Here."),
        ("Here. <<File: tea.pdf>>\n\ufffc", "Here."),
        ("The link Tea.<<Cup.html>> is wrong.", "The link Tea.<<Cup.html>> is wrong."),
        ("I wrote a << b and c >> d. (See attached)", "I wrote a << b and c >> d. (See attached)"),
    ],
)
def test_stand_ins_for_files(text, shown):
    assert without_images(text) == shown


BASE64 = "JVBERi0xLjQKJcfsj6IKNSAwIG9iago8PC9MZW5ndGggNiAwIFIvRmlsdGVyIC9GbGF0ZURl\n"


@pytest.mark.parametrize(
    "attached",
    [
        'Attachment Converted: "C:\\Eudora\\Attach\\tea.doc"',
        "Attachment converted: Macintosh HD:tea.doc (WDBN/MSWD) (0000A1B2)",
        "Embedded Content: tea.gif: 00000001,12345678,00000000,00000000",
        "begin 644 tea.txt\n#0V%T\n`\nend",
        "begin 644 tea.doc\n" + ("M" + "2" * 60 + "\n") * 3 + "&2&5L;&\\*\nend",
        "begin 644 tea.doc\n" + ("M" + "2" * 60 + "\n") * 3,
        "(This file must be converted with BinHex 4.0)\n\n:$f*TEQKPH\nabc!:",
        BASE64 * 4 + "YmFy",
        f'--=_B1\nContent-Type: image/png;\n name="tea.png"\nContent-Transfer-Encoding: base64\n\n{BASE64 * 4}YQ==',
    ],
)
def test_a_file_in_a_text(attached):
    assert without_attached(f"Here it is.\n\n{attached}\nI come.").split() == ["Here", "it", "is.", "I", "come."]


@pytest.mark.parametrize(
    "text", ["begin 2024 with tea\nTHE END", "Attachment converted", "begin 644 tea\nthen\nend", BASE64 * 2]
)
def test_words_that_a_file_begins_with_are_a_persons(text):
    assert without_attached(text) == text


def test_a_warning_is_one_only_at_the_top():
    below = "Tea.\n" * 10 + "Do not click links.\n"
    assert without_banners(below) == below.strip()
    assert without_banners("[EXTERNAL]\nTea.") == "Tea."
