"""The phrases with which mail programs introduce a quote or end a mail, in many languages.

Phrases of signatures come from ``mailparser_reply``; its expressions for quotes take cubic time and are not used.
"""

from __future__ import annotations

import re
from functools import cache

import mailparser_reply

from pearl.text.phrases import Phrases

PHRASES = Phrases.of("service", "mails")

VERBS, SPOKEN, OPENERS, FIRST_PERSON, PARTICLES = (
    frozenset(PHRASES.entries(name)) for name in ("verbs", "spoken", "openers", "first_person", "particles")
)
JOINED_VERBS = tuple(PHRASES.entries("joined_verbs"))
LABELS: dict[str, str] = {
    label: kind for kind in ("other", "to", "sent", "subject", "from") for label in PHRASES.entries(f"label_{kind}")
}
SEPARATORS = PHRASES.compile("{separators}.{0,40}")
FORWARD_LINES = PHRASES.compile(r"{forwards}\s*[:：]?")
ABOVE = PHRASES.compile(r"\b{above}|{above_joined}|\b{not}\b.{1,40}\b{below}")
LINE = PHRASES.compile(r"\b{line}|{line_joined}")
ANSWER = PHRASES.compile("{answer}")
LEAVE = PHRASES.compile("{leave}")
FOOTERS = PHRASES.compile(r"{footer_verbs}\s+(?:{footer_links}\b|\[?(?:proton|outlook|yahoo|gmail|iphone))|{footers}")
DEVICES = PHRASES.compile("{devices}")
BANNERS = PHRASES.compile("{banners}")
BANNER_MARK = re.compile(r"\W*(?:ext|extern|external)(?: ?(?:e-?mail|sender|message))?\W*", re.IGNORECASE)
DISCLAIMERS = PHRASES.compile("{disclaimers}")
PAPER = PHRASES.compile("{paper}")


@cache
def sign_offs() -> re.Pattern[str]:
    """Return a pattern for the beginning of a closing line: "Best regards", "Mit freundlichen Grüßen"."""
    # "david" is a joke of the library's
    languages = (words for name, words in mailparser_reply.constants.MAIL_LANGUAGES.items() if name != "david")
    return re.compile("|".join(phrase for words in languages for phrase in words.get("signatures", ())), re.IGNORECASE)
