"""The language of a text, and the language that a draft for a request is to be in, as two-letter ISO 639 codes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import regex

from pearl.text.phrases import Phrases

SURE = 0.8  # probability: of 23,000 English texts and requests none was taken for another known language
LEAST_LETTERS, LEAST_SIGNS = 8, 2  # a word or two; signs of Han, kana or Hangul say more
LONGEST = 300  # characters that are looked at
UNKNOWN = ""
KEPT = 10_000  # answers, by the hash of their text: a draft asks for those of its request and documents again
LONGEST_REQUEST = 4_000  # characters in which a language may be named
# characters of format (Cf), such as marks of direction
_FORMAT = (
    r"\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    r"\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0001\U000e0020-\U000e007f"
)
_UNSAID = re.compile(rf"https?://\S+|www\.\S+|\S+@\S+|`[^`]*`|[{_FORMAT}]|[\d_]+")
_ENOUGH = regex.compile(
    rf"(?:\p{{L}}\P{{L}}*){{{LEAST_LETTERS}}}"
    rf"|(?:[\p{{Han}}\p{{Hiragana}}\p{{Katakana}}\p{{Hangul}}].*?){{{LEAST_SIGNS}}}",
    regex.DOTALL,
)
_QUOTED = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_MAIL_BELOW = re.compile(r"\A(.{1,300}?):\s*(?:\n|[\"“„«])(.+)", re.DOTALL)


def detect(text: str) -> str | None:
    """Return the code of a text's language; None if the text's beginning is too short, ambiguous, or in no known
    language."""
    begin = text[: 2 * LONGEST]
    language = _known.get(hash(begin), UNKNOWN)
    if language is UNKNOWN:
        if len(_known) >= KEPT:
            _known.clear()
        language = _known[hash(begin)] = _detected(begin)
    return language


def _detected(begin: str) -> str | None:
    text = _UNSAID.sub("", begin)[:LONGEST]
    if not _ENOUGH.search(text):
        return None
    import numpy as np  # not above: commands that only read and write rows start without it

    identifier, state = _identifier(), 0
    moves, features_of = identifier.tk_nextmove, _features_of()
    found: list[int] = []
    for byte in (text.lower() if text.isupper() else text).encode(errors="surrogatepass"):
        state = moves[(state << 8) + byte]
        found += features_of[state]
    features, counts = np.unique(np.array(found, np.intp), return_counts=True)
    scores = counts.astype(np.float32) @ identifier.nb_ptc[features] + identifier.nb_pc  # log-likelihoods
    # n-grams are not independent: undivided, any text of a line would be certain
    odds = np.exp((scores - scores.max()) * 2 / math.sqrt(len(text.encode())))
    best = int(odds.argmax())
    language = str(identifier.nb_classes[best])
    return language if odds[best] >= SURE * odds.sum() and language in names() else None


_known: dict[int, str | None] = {}


@cache
def names() -> dict[str, str]:
    """Return the English names of the known languages by code."""
    return {code: english[0] for code in _codes() for english in [_phrases().by_language(code)[0]]}


def wanted_language(request: str, instructions: str = "") -> str | None:
    """Return the language that a draft should be in: a language named by instructions or request, the answered mail's
    language if the request asks for that, or the request's own. None if that is unsure, or if the instructions, which
    take precedence, mention a language in a way that is not understood."""
    if named := _named(instructions):
        return named
    if _patterns()[0].search(instructions[:LONGEST_REQUEST]):
        return None
    request = request[:LONGEST_REQUEST]
    said, mail = _parts(request)
    if named := _named(said):
        return named
    if _patterns()[-1].search(said):
        return detect(mail)
    return detect(said) or (detect(request) if mail else None)


def _named(text: str) -> str | None:
    for pattern in _patterns()[1:-1]:
        if found := pattern.search(text[:LONGEST_REQUEST]):
            return found.lastgroup
    return None


def _parts(request: str) -> tuple[str, str]:
    """Split a request into its own words and the mail that it quotes: lines after ">", or the text below a colon."""
    if quoted := _QUOTED.findall(request):
        return _QUOTED.sub("", request), "\n".join(line.strip(" \t>") for line in quoted)
    below = _MAIL_BELOW.match(request)
    return (below[1], below[2]) if below else (request, "")


@cache
def _phrases() -> Phrases:
    return Phrases.of("pearl", "languages")


@cache
def _codes() -> tuple[str, ...]:
    return tuple(name for name in _phrases().lists("en") if len(name) == 2)


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Return patterns of a language's name, of wishes for a language (a group of its code), and for the mail's own."""
    name = "|".join(f"(?P<{code}>{{{code}}})" for code in _codes())
    words = r"(?:,?\s+(?!{clause}\b)[\w'’-]+){0,5}?"
    wishes = (
        rf"\b{{write}}\b{words},?\s+{{into}}\s+(?:{name})\b",
        rf"(?:\b{{into}}\s+)?(?:{name})\s*{{after}}",
        rf"(?:^|[.!?(\n])\s*(?:{{please}},?\s+)?{{into}}\s+(?:{name})(?:,?\s+{{please}})?\s*(?:[.!?,;:)\n]|\Z)",
    )
    return tuple(_phrases().compile(pattern) for pattern in (rf"\b(?:{name})", *wishes, r"{theirs}"))


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_pickled_model(MODEL_FILE)
    identifier.set_languages([code for code in identifier.nb_classes if code not in ("nb", "nn")])  # "no" is both
    return identifier


@cache
def _features_of() -> list[Sequence[int]]:
    """Return what is counted as each state of the automaton is entered: a list is faster than the detector's dict."""
    identifier = _identifier()
    return [identifier.tk_output.get(state, ()) for state in range(len(identifier.tk_nextmove) // 256)]


def load() -> None:
    """Load the detector and the patterns now, so that the first request does not wait for them."""
    _features_of()
    _patterns()
