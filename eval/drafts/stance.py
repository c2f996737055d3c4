"""The stance that a comment takes on its reader: "you are in the wrong" (YTA) or "you are not" (NTA), found by rules on
its words (papers/pearl.txt, section 5.1).

A text with no verdict, with both, or with another customary verdict (everybody or nobody is in the wrong) has no
stance. The published keywords, of caisa-lab/perspectivism-personalization, are sought anywhere in a text: "nta" is
found in "presentation", too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from eval.asking.choices import PaperChoice, Preset, Presets

YTA, NTA = "YTA", "NTA"
STANCES = (YTA, NTA)
CORRECTED, AS_PUBLISHED = "corrected", "as_published"
PRESETS = Presets(
    (
        PaperChoice(
            "stances",
            {
                "rules": "verdicts by rules that pass over what is asked, quoted, denied or said of somebody else",
                "keywords": "the published keywords, anywhere in the text; a text with some of both has no stance",
            },
            'A list is published, no rule; "nah" also means no, and "nta" is a part of many words.',
        ),
    ),
    (
        Preset(CORRECTED, "Rules that answer where a verdict is clear.", {"stances": "rules"}),
        Preset(AS_PUBLISHED, "The published keywords.", {"stances": "keywords"}),
    ),
)
_SUBJECTS = ("you are", "you're", "u are", "u re", "you re", "u're")
NTA_KEYWORDS = (
    *("nta", "nah", "not the asshole", "not the ah", "not asshole", "not ah"),
    *(f"{subject} not the asshole" for subject in _SUBJECTS),
)
YTA_KEYWORDS = (
    *("yta", "you the ah", "you the asshole", "u the asshole", "u the ah"),
    *(f"{subject} the asshole" for subject in _SUBJECTS),
)
_OTHER = "other"
LOOK_BACK = 100  # characters before a verdict that may take it back

_INSULT = r"(?:(?:a(?:ss|rse)|a[*$@_]{1,2}|as\*|a\*s)[ -]?(?:h[o0*_][l1*_]e?)|a-?hole|(?-i:AH|TA))\b"
_ADVERB = r"(?:\w+ly|kinda|kind of|sort of|so|just|still|very much|\d+%)[ ,]+"
# "an asshole magnet" is no verdict: what may follow an insult in one
_CLAUSE_ENDS = (
    r"(?=\s*(?:$|[.,;:!)\n\"'*—–-]|(?:here|for|in|if|because|bc|to|and|but|with|op|when|though|too|tho"
    r"|lol|mate|dude|man|bro|buddy|tbh|imo|imho)\b))"
)
_YOU_ARE = r"\b(?:(?:you|u)(?: are| re|['’]?re)|u r|ur|op is)\s+"
_YOU_ARE_NOT = rf"(?:{_YOU_ARE}(?:{_ADVERB})*not|\b(?:you|u) (?:aren['’]?t|were(?: not|n['’]?t))|\bop isn['’]?t)\s+"
_PHRASE_YTA = rf"{_YOU_ARE}(?:{_ADVERB})*(?:(?:the|an?|such an?)\s+)(?:(?:huge|total|massive|real|big|major|giant)\s+)?"
_SENTENCE_STARTS = r"(?:(?<=[.!?\n]\s)|(?<=\n)|^)"

_RULES = tuple(
    (label, re.compile(pattern, re.IGNORECASE))
    for label, pattern in (
        (YTA, r"\b(?:Y\.?T\.?AH?|YWBTA)\b"),
        (NTA, r"\b(?:N\.?T\.?AH?|YWNBTA)\b"),
        (YTA, _PHRASE_YTA + _INSULT + _CLAUSE_ENDS),
        (YTA, rf"{_YOU_ARE}(?:{_ADVERB})*(?-i:TA)\b{_CLAUSE_ENDS}"),
        (NTA, rf"{_YOU_ARE_NOT}(?:{_ADVERB})*(?:being )?(?:the|an?)\s+{_INSULT}{_CLAUSE_ENDS}"),
        (NTA, rf"{_SENTENCE_STARTS}(?:{_ADVERB})*not (?:(?:the|an?)\s+)?{_INSULT}{_CLAUSE_ENDS}"),
        (NTA, rf"{_SENTENCE_STARTS}(?:{_ADVERB})*not the ah\b{_CLAUSE_ENDS}"),
        (YTA, rf"{_SENTENCE_STARTS}(?:{_ADVERB})*(?:you|u) the (?:{_INSULT}|ah\b){_CLAUSE_ENDS}"),
        (_OTHER, r"\b(?-i:ESH|NAH)\b|\beverybody sucks here\b|\beveryone sucks here\b|\bno assholes here\b"),
    )
)
_QUOTED_LINE = re.compile(r"^[ \t]*(?:>|&gt;).*$", re.MULTILINE)
_DISBELIEF = re.compile(r"\b(?:don['’]?t|do not|didn['’]?t) (?:think|believe|feel like)(?: that)?\s+$", re.IGNORECASE)
# what makes the words before it somebody else's, a condition or the contrary
_NOT_MEANT = re.compile(
    r"""(?:
        \b(?:if|whether|not|never|isn['’]?t|aren['’]?t|no|than|not\ that)
      | \b(?:everyone|everybody|people|others?|anyone|anybody|those|comments?|commenters|folks|who|they|all)\b
        [^.!?,;\n]{0,20}\b(?:say|said|call|vote|voting|think)\w*(?:\ you)?
      | \b(?:says|calls|thinks|votes)(?:\ you|\ that)?
      | \bnot\ (?:saying|sure)(?:\ that)?
      | \b(?!(?:you|u|op|it|that|this)\b)\w+(?:['’]s|['’]re|\ is|\ are|\ was|\ were)(?:\ \w+ly)?
      | \b(?:doubt|wouldn['’]?t\ say|can['’]?t\ say|cannot\ say)(?:\ that)?
    )\s*["'“”‘’*]*$""",
    re.IGNORECASE | re.VERBOSE,
)
_QUESTIONED = re.compile(r"\s*[\"'“”’*]*\?")


def stance(text: str, preset: str = CORRECTED) -> str | None:
    """Return YTA, NTA, or None if the text has no clear stance."""
    if preset == AS_PUBLISHED:
        lower = text.lower()
        keywords = {YTA: YTA_KEYWORDS, NTA: NTA_KEYWORDS}
        named = [label for label, words in keywords.items() if any(word in lower for word in words)]
        return named[0] if len(named) == 1 else None
    verdicts = set(_verdicts(_QUOTED_LINE.sub("", text)))
    return verdicts.pop() if len(verdicts) == 1 and verdicts <= set(STANCES) else None


def _verdicts(text: str) -> Iterator[str]:
    for label, rule in _RULES:
        for match in rule.finditer(text):
            before = text[max(0, match.start() - LOOK_BACK) : match.start()]
            if _QUESTIONED.match(text, match.end()):
                continue
            if _DISBELIEF.search(before):
                if label == YTA:
                    yield NTA
            elif not _NOT_MEANT.search(before):
                yield label
