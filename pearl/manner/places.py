"""The spans of a text that traits count: patterns, sets of words, and kinds of sentences."""

from __future__ import annotations

from collections.abc import Sequence

from pearl.manner.writing import Writing
from pearl.text.words import Spot, is_question

SUBJECTS = r"(?:i|you|he|she|it|we|they|that|this|there|here|who|what|where|how|when|let)"
CONTRACTION = rf"\b(?:[a-z]+n['’]t|{SUBJECTS}['’](?:s|m|re|ve|d|ll)|y['’]all)\b"
BOLD_OR_ITALIC = (
    r"\*\*[^*\n]+\*\*|__[^_\n]+__|</?(?:b|strong|i|em)>[^<\n]*</(?:b|strong|i|em)>"
    r"|(?<![\w*\\])\*(?![\s*])[^*\n]*[^*\s]\*(?![\w*])|(?<![\w\\])_(?![\s_])[^_\n]*[^_\s]_(?!\w)"
)
HEADING = r"^#{1,6}[ \t]+\S[^\n]*|^\S[^\n]*\n(?:={3,}|-{3,})[ \t]*$|^(?:\*\*|__)[^*_\n]+(?:\*\*|__):?[ \t]*$"
CODE = r"```[^`]*```|`[^`\n]+`"
# pictures, each with what varies it: how it is shown and its tone; joined ones are one emoji
PICTURE = r"[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u231a\u231b\u23e9-\u23f3][\ufe0f\U0001f3fb-\U0001f3ff]*"
EMOJI = rf"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3|{PICTURE}(?:\u200d{PICTURE})*"
EMOTICON = r"(?<![\w(:])(?:[:;=][-'^o]?[)(DPp/\\|\]\[*3]|[:;]-?[oO]|<3|\^\^|xD|XD|:\w+:)(?![\w/])"
DASH = r"—|(?<=\w)--(?=\w)|(?<=\S[ \t])(?:–|-{1,3})(?=\s)|(?<=\D)–(?=\D)"
PARENTHESIS = r"(?<![\w:;=])\([^()\n]*(?:\n[^()\n]+)*\)|（[^（）\n]*）"
NUMBER = r"(?<![\w.])[-+]?\d+(?:[.,:]\d+)*%?(?!\w)"
FIRST_PERSON, FIRST_PERSONS, SECOND_PERSON = (
    frozenset(words.split())
    for words in (
        "i i'm i've i'd i'll me my mine myself",
        "we we're we've we'd we'll us our ours ourselves let's",
        "you you're you've you'd you'll your yours yourself yourselves y'all",
    )
)
HEDGES = (
    r"\b(?:perhaps|maybe|probably|possibly|seems?|apparently|somewhat|sort of|kind of"
    r"|i (?:think|guess|suppose|believe|suspect))\b"
)
COURTESY = r"\b(?:please|thanks?(?: you)?|sorry|kindly|grateful|apolog(?:y|ies|ise|ize))\b"
CLOSERS = "\"'”’)]*_」』）】》»"  # behind the mark that ends a sentence
OPENERS = frozenset({"and", "but", "so", "or", "because", "also"})


def small_starts(writing: Writing) -> Sequence[Spot]:
    return [spot for spot in writing.sentences if writing.text[spot[0]].islower()]


def joined_starts(writing: Writing) -> Sequence[Spot]:
    starts = {spot[0]: word for spot, word in zip(writing.words, writing.lower_words, strict=True)}
    return [spot for spot in writing.sentences if starts.get(spot[0]) in OPENERS]


def questions(writing: Writing) -> Sequence[Spot]:
    return [spot for spot in writing.sentences if is_question(writing.text[slice(*spot)].rstrip(f"{CLOSERS}!！"))]


def wide_gaps(writing: Writing) -> Sequence[Spot]:
    return [
        (end, end + 2)
        for _, end in writing.sentences
        if writing.text[end : end + 2] == "  " and writing.text[end + 2 : end + 3].strip()
    ]


def shouted(writing: Writing) -> Sequence[Spot]:
    words = ((writing.text[start:end], (start, end)) for start, end in writing.words)
    return [spot for word, spot in words if len(word) > 3 and word.isalpha() and word.isupper()]
