"""The traits that are counted by rule: of a text's form, and of its words and marks. Tables, documentation and the
voice card are generated from these declarations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pearl.style.manner.ends import closing_question, greeting, no_closing_mark, sign_off
from pearl.style.manner.trait import (
    PER_100_WORDS,
    SHARE_OF_SENTENCES,
    SHARE_OF_TEXTS,
    WORDS_PER_SENTENCE,
    WORDS_PER_TEXT,
    Trait,
    any_match,
    any_of,
    matches,
)
from pearl.style.manner.writing import LIST_ITEM, Writing
from pearl.text.words import CLOSING_SIGNS, GREEK, Spot, is_question

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
OPENERS = frozenset({"and", "but", "so", "or", "because", "also"})


def small_starts(writing: Writing) -> Sequence[Spot]:
    return [spot for spot in writing.sentences if writing.text[spot[0]].islower()]


def joined_starts(writing: Writing) -> Sequence[Spot]:
    starts = {spot[0]: word for spot, word in zip(writing.words, writing.lower_words, strict=True)}
    return [spot for spot in writing.sentences if starts.get(spot[0]) in OPENERS]


def questions(writing: Writing) -> Sequence[Spot]:
    return [spot for spot in writing.sentences if is_question(writing.text[slice(*spot)].rstrip(f"{CLOSING_SIGNS}!！"))]


FORM = (
    Trait(
        "words",
        "length",
        "Words of a text, without web addresses.",
        WORDS_PER_TEXT,
        lambda writing: writing.words,
        "write longer|shorter texts",
    ),
    Trait(
        "sentence_length",
        "sentence length",
        "Words of a sentence.",
        WORDS_PER_SENTENCE,
        lambda writing: writing.words,
        "write longer|shorter sentences",
    ),
    Trait(
        "lists",
        "lists",
        "Texts with two list items or more, bulleted or numbered.",
        SHARE_OF_TEXTS,
        any_match(LIST_ITEM.pattern, re.MULTILINE, least=2),
        "write lists more|less often",
    ),
    Trait(
        "headings",
        "headings",
        "Texts with a Markdown heading, underlined line or line in bold.",
        SHARE_OF_TEXTS,
        any_match(HEADING, re.MULTILINE),
        "use headings more|less often",
    ),
    Trait(
        "bold_italics",
        "bold and italics",
        "Passages in bold or italics, in Markdown or HTML.",
        PER_100_WORDS,
        matches(BOLD_OR_ITALIC),
        "use more|less bold and italics",
    ),
    Trait(
        "emojis",
        "emojis",
        "Emojis; one made of several characters counts once.",
        PER_100_WORDS,
        matches(EMOJI),
        "use more|fewer emojis",
    ),
    Trait(
        "emoticons",
        "emoticons",
        "Emoticons and named emojis, such as :) and :tada:.",
        PER_100_WORDS,
        matches(EMOTICON, re.NOFLAG),
        "use more|fewer emoticons",
    ),
    Trait(
        "greeting",
        "greeting",
        "Texts that begin with a greeting.",
        SHARE_OF_TEXTS,
        greeting,
        "greet more|less often",
    ),
    Trait(
        "sign_off",
        "sign-off",
        "Texts that end with closing words or a name on a line of its own.",
        SHARE_OF_TEXTS,
        sign_off,
        "sign off more|less often",
    ),
    Trait(
        "closing_question",
        "questions at the end",
        "Texts whose last sentence, before a sign-off, is a question.",
        SHARE_OF_TEXTS,
        closing_question,
        "end with a question more|less often",
    ),
    Trait(
        "no_closing_mark",
        "no mark at the end",
        "Texts that end, before a sign-off, with a letter or digit.",
        SHARE_OF_TEXTS,
        no_closing_mark,
        "leave the last mark out more|less often",
    ),
    Trait(
        "questions",
        "questions",
        "Sentences that end with a question mark.",
        SHARE_OF_SENTENCES,
        questions,
        "ask more|fewer questions",
    ),
    Trait(
        "joined_starts",
        "And, But or So at the start",
        "Sentences that begin with and, but, so, or, because or also.",
        SHARE_OF_SENTENCES,
        joined_starts,
        "begin more|fewer sentences with and, but or so",
    ),
    Trait(
        "small_starts",
        "no capital at the start",
        "Sentences that begin with a small letter.",
        SHARE_OF_SENTENCES,
        small_starts,
        "begin more|fewer sentences with a small letter",
    ),
)

DICTION = (
    Trait(
        "i",
        "I",
        "I, me, my, mine and myself.",
        PER_100_WORDS,
        any_of(FIRST_PERSON),
        "say I more|less often",
    ),
    Trait(
        "we",
        "we",
        "We, us, our, ours, ourselves and let's.",
        PER_100_WORDS,
        any_of(FIRST_PERSONS),
        "say we more|less often",
    ),
    Trait(
        "you",
        "you",
        "You, your, yours and yourself.",
        PER_100_WORDS,
        any_of(SECOND_PERSON),
        "say you more|less often",
    ),
    Trait(
        "contractions",
        "contractions",
        "Contractions such as don't, it's and we'll; possessives are none.",
        PER_100_WORDS,
        matches(CONTRACTION),
        "contract more|fewer words",
    ),
    Trait(
        "hedges",
        "hedges",
        "Perhaps, maybe, probably, seems, I think and the like.",
        PER_100_WORDS,
        matches(HEDGES),
        "hedge more|less",
    ),
    Trait(
        "courtesy",
        "please, thanks and sorry",
        "Please, thanks, sorry and the like.",
        PER_100_WORDS,
        matches(COURTESY),
        "say please, thanks or sorry more|less often",
    ),
    Trait(
        "commas",
        "commas",
        "Commas that are not inside a number.",
        PER_100_WORDS,
        matches(r"[,،、，](?!\d)"),
        "use more|fewer commas",
    ),
    Trait(
        "semicolons",
        "semicolons",
        "Semicolons outside of emoticons.",
        PER_100_WORDS,
        matches(rf"(?<=[\w)\"'”’`*])(?<![{GREEK}]{{2}});(?=\s)|[；؛]"),
        "use more|fewer semicolons",
    ),
    Trait(
        "colons",
        "colons",
        "Colons before a space.",
        PER_100_WORDS,
        matches(r"(?<=[\w)\"'”’`*\u202f]):(?=\s)|："),
        "use more|fewer colons",
    ),
    Trait(
        "dashes",
        "dashes",
        "Dashes between words; hyphens and bullets are none.",
        PER_100_WORDS,
        matches(DASH),
        "use more|fewer dashes",
    ),
    Trait(
        "exclamations",
        "exclamation marks",
        "Exclamation marks; a run of them counts once.",
        PER_100_WORDS,
        matches(r"(?<=[\w)\"'”’`*?\u00a0\u202f])!+(?![\w=])|！+"),
        "use more|fewer exclamation marks",
    ),
    Trait(
        "ellipses",
        "ellipses",
        "Three dots or more, or their one character.",
        PER_100_WORDS,
        matches(r"(?<![./])\.{3,}(?![/\w])|…"),
        "use more|fewer ellipses",
    ),
    Trait(
        "parentheses",
        "parentheses",
        "Passages in round brackets; calls of functions are none.",
        PER_100_WORDS,
        matches(PARENTHESIS),
        "put more|less in brackets",
    ),
)

TRAITS = (*FORM, *DICTION)
# sums of others, for which pairs of texts are annotated
SUMS = (
    Trait(
        "pronouns",
        "personal pronouns",
        "I, we and you in all their forms.",
        PER_100_WORDS,
        any_of(FIRST_PERSON | FIRST_PERSONS | SECOND_PERSON),
        "say I, we or you more|less often",
    ),
    Trait(
        "structure",
        "formatting",
        "List items, headings and passages in bold, italics or code.",
        PER_100_WORDS,
        matches(rf"(?m:{LIST_ITEM.pattern}|{HEADING})|{BOLD_OR_ITALIC}|{CODE}"),
        "format more|less",
    ),
)
BY_NAME = {trait.name: trait for trait in (*TRAITS, *SUMS)}
