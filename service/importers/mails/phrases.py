"""The words by which mail programs introduce a quote or end a mail, in the languages they speak.

Those of signatures are ``mailparser_reply``'s, a dozen languages; its expressions for quotes take cubic time and are
not used.
"""

from __future__ import annotations

import re
from functools import cache

import mailparser_reply

from service.importers.words import known_words

KNOWN = known_words(__package__)

VERBS, SPOKEN, OPENERS, FIRST_PERSON, PARTICLES = (
    frozenset(KNOWN[name].split("|")) for name in ("verbs", "spoken", "openers", "first_person", "particles")
)
JOINED_VERBS = tuple(KNOWN["joined_verbs"].split("|"))
LABELS: dict[str, str] = {
    label: kind for kind in ("other", "to", "sent", "subject", "from") for label in KNOWN[f"label_{kind}"].split("|")
}
SEPARATORS = re.compile(rf"(?:{KNOWN['separators']}).{{0,40}}", re.IGNORECASE)
FORWARD_LINES = re.compile(rf"(?:{KNOWN['forwards']})\s*[:：]?", re.IGNORECASE)
ABOVE = re.compile(
    rf"\b(?:{KNOWN['above']})|{KNOWN['above_joined']}|\b(?:{KNOWN['not']})\b.{{1,40}}\b(?:{KNOWN['below']})",
    re.IGNORECASE,
)
LINE = re.compile(rf"\b(?:{KNOWN['line']})|{KNOWN['line_joined']}", re.IGNORECASE)
ANSWER = re.compile(KNOWN["answer"], re.IGNORECASE)
LEAVE = re.compile(KNOWN["leave"], re.IGNORECASE)
FOOTERS = re.compile(
    rf"(?:{KNOWN['footer_verbs']})\s+(?:(?:{KNOWN['footer_links']})\b|\[?(?:proton|outlook|yahoo|gmail|iphone))"
    rf"|{KNOWN['footers']}",
    re.IGNORECASE,
)
DEVICES = re.compile(KNOWN["devices"], re.IGNORECASE)
BANNERS = re.compile(KNOWN["banners"], re.IGNORECASE)
BANNER_MARK = re.compile(r"\W*(?:ext|extern|external)(?: ?(?:e-?mail|sender|message))?\W*", re.IGNORECASE)
DISCLAIMERS = re.compile(KNOWN["disclaimers"], re.IGNORECASE)
PAPER = re.compile(KNOWN["paper"], re.IGNORECASE)


@cache
def sign_offs() -> re.Pattern[str]:
    """Matches the start of a line that opens a signature: "Best regards", "Mit freundlichen Grüßen"."""
    # "david" is a joke of the library's
    languages = (words for name, words in mailparser_reply.constants.MAIL_LANGUAGES.items() if name != "david")
    return re.compile("|".join(phrase for words in languages for phrase in words.get("signatures", ())), re.IGNORECASE)
