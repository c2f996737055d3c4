from __future__ import annotations

import re

import pytest

from pearl.errors import InputError
from pearl.text.phrases import SLOT, Phrases
from tests.source import ROOT, sources

SHIPPED = sorted(ROOT.glob("*/phrases/*.toml"))

BROKEN = {
    "a line that is not TOML": ('[de]\nverbs = ["schrieb"\nopeners = ["am"]', "is not TOML: .*line 3"),
    "an escape that TOML lacks": (r"[de]" + '\nverbs = ["\\schrieb"]', "is not TOML: .*line 2"),
    "a list above all sections": ('verbs = ["wrote"]', "'verbs' must stand in the section of a language"),
    "a phrase in place of a list": ('[de]\nverbs = "schrieb"', r"\[de\] verbs must be a list of phrases"),
    "an empty list": ("[de]\nverbs = []", r"\[de\] verbs must be a list of phrases"),
    "a number among phrases": ('[de]\nverbs = ["schrieb", 3]', r"\[de\] verbs, entry 2 must be a phrase in quotes"),
    "an empty phrase": ('[en]\nverbs = ["wrote"]\n[de]\nverbs = [""]', r"\[de\] verbs, entry 1 must be a phrase"),
    "a list that is not there": ('[de]\nverbs = ["{name} schrieb"]', r"\[de\] verbs, entry 1 names the list 'name'"),
    "one of another language": (
        '[en]\nname = ["Ann"]\n[de]\nverbs = ["{name} schrieb"]',
        r"\[de\] verbs, entry 1 names the list 'name', which \[de\] lacks",
    ),
    "a bracket that is not closed": (
        '[en]\nverbs = ["wrote"]\n[de]\nverbs = ["schreibt", "schrieb("]',
        r"\[de\] verbs, entry 2, 'schrieb\(', is no regular expression: missing \)",
    ),
    "one that a later entry closes": (
        '[de]\nverbs = ["(schreibt", "schrieb)"]\nopeners = ["a++b++*"]',
        r"\[de\] verbs, entry 1, '\(schreibt', is no regular expression",
    ),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_list_is_named_with_its_file_section_and_entry(text, message, tmp_path):
    file = tmp_path / "mails.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rf"^{re.escape(str(file))}: {message}"):
        Phrases(file).check()


def test_a_pattern_names_the_broken_entry(tmp_path):
    file = tmp_path / "mails.toml"
    file.write_text('[de]\nverbs = ["schrieb["]', encoding="utf-8")
    with pytest.raises(InputError, match=r"mails\.toml: \[de\] verbs, entry 1, 'schrieb\[', is no regular expression"):
        Phrases(file).compile("{verbs}:")


def test_a_pattern_has_the_phrases_of_all_languages_and_an_entry_those_of_its_own(tmp_path):
    file = tmp_path / "mails.toml"
    file.write_text(
        "[en]\nwho = ['I']\nverbs = ['{who} wrote', 'said']\n[de]\nwho = ['ich']\nverbs = ['{who} schrieb']\n",
        encoding="utf-8",
    )
    phrases = Phrases(file)
    assert phrases.entries("verbs") == ["(?:I) wrote", "said", "(?:ich) schrieb"]
    pattern = phrases.compile(r"\d{1,2} {verbs}:")
    assert all(map(pattern.fullmatch, ("3 I wrote:", "12 SAID:", "1 ich schrieb:")))
    assert pattern.fullmatch("1 ich wrote:") is None


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: f"{file.parts[-3]}-{file.stem}")
def test_the_lists_that_are_shipped(file):
    """Each entry can be used, and each list is: a name with a slip in it would be passed over in silence."""
    phrases = Phrases(file)
    phrases.check()
    packages = {file.parts[-3], "service"}  # which reads phrases of pearl, too
    code = "\n".join(source.text for source in sources() if source.package in packages)
    used = set(SLOT.findall(code)) | set(SLOT.findall(file.read_text("utf-8")))
    used |= {f"{kind}_folders" for kind in ("spam", "draft", "unsent", "trash", "chat")}
    used |= {f"label_{kind}" for kind in ("other", "to", "sent", "subject", "from")}
    used |= {name for name in phrases._lists if len(name) == 2}  # the codes of languages
    assert [name for name in phrases._lists if name not in used and f'"{name}"' not in code] == []
