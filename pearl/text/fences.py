"""Makes other people's texts safe in a prompt: they can neither end the fence around them nor begin a turn.

Our marks, and the control tokens of chat templates, are broken in the texts that a model is sent; stored texts do not
change. A mark is recognized by how it looks to a reader, whatever characters it is written in. A token is also
recognized in compatibility forms and with zero-width characters, which a tokenizer may normalize.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from pearl.text.usable import is_blank

APART = " "  # behind a bracket: no tokenizer, and no reader of code, takes it amiss
BROKEN = "_ "  # with a blank alone a closing mark would still look like one
MOST_FOLDED = 20_000  # characters remembered, of which a text has far fewer
# a letter of any Latin alphabet with a stroke, a hook, as a small capital or in a box
LATIN = re.compile(r"(?:.*LATIN|REGIONAL INDICATOR SYMBOL).* LETTER (?:[A-Z-]{2,} )*([A-Z])(?: WITH .*)?")
# letters of other scripts, and signs, that look like one (Unicode Technical Standard 39)
LOOKALIKES = {
    "a": "аαꓮᎪ",
    "c": "сϲⲥꓚᏟ",
    "d": "ԁꓓᎠ",
    "e": "еҽ℮єεҿꓰᎬ",
    "f": "ғϝꓝ",
    "m": "мϻⲙꓟᎷ",
    "n": "ոռпηŋꓠ",
    "o": "оοօσөⲟꓳჿס0",
    "p": "рρꓑᏢ",
    "q": "ԛգզ",
    "r": "гᴦꓣᎡ",
    "s": "ѕꓢᏚ",
    "t": "тτⲧꓔᎢ",
    "u": "υսꓴ",
    "x": "хχⲭꓫ×",
    "/": "∕⁄╱⧸⟋\\∖⧵⟍",
    "‹": "«〈⟨《⟪˂ᐸ❮❬❰≺⋖",  # an angle, if not that of a mark; people quote with it
}
BRACKETS = re.compile("[<\\[«˂ᐸ‹≮≺⊀⋖\u2329❬❮❰⟨⟪〈《︽︿﹇﹤＜［]")  # all that fold to one: most texts have none
ALIKE = str.maketrans({sign: letter for letter, signs in LOOKALIKES.items() for sign in signs})
# of ChatML, Llama, Mistral, Gemma, Phi, DeepSeek, Qwen, GLM, EXAONE, Command and T5
ROLE_TOKEN = re.compile(
    r"<(?=\|[^\s<>|]{1,60}\|?>|[a-z][a-z_]{0,40}\|>|/?s>|<?/?SYS>)"
    r"|<(?=(?i:(?:bos|eos|pad|unk|mask|cls|sep)(?:_token)?|(?:start|end)_of_[a-z]{2,20}|fim_[a-z]{3,9}|extra_id_\d{1,4}"
    r"|/?(?:think|tool_calls?|tool_responses?|tools|im_start|im_end))>)"
    r"|\[(?=\|[a-z]{1,20}\|\]|(?i:/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS"
    r"|CALL_ID|THINK|MODEL_SETTINGS|[gs]?MASK|BOS|EOS|EOT|IMG|IMG_BREAK|IMG_END|PREFIX|SUFFIX|MIDDLE)\]))"
)


class _Folded(dict[int, str]):
    """A table for ``str.translate`` that learns what stands for each character as it comes."""

    def __init__(self, fold: Callable[[str], str]) -> None:
        self._fold = fold

    def __missing__(self, code: int) -> str:
        plain = self._fold(chr(code))
        if len(self) < MOST_FOLDED:
            self[code] = plain
        return plain


def _compatible(character: str) -> str:
    """The character in compatibility form (NFKD), without invisible characters and combining marks."""
    plain = unicodedata.normalize("NFKD", character)
    return "".join(
        part
        for part in plain
        if part.isspace() or not (is_blank(part) or unicodedata.category(part) in ("Mn", "Me") or part == "\u2800")
    )


def _seen(character: str) -> str:
    """The character as a reader takes it, in lower case."""
    plain = _compatible(character).casefold().translate(ALIKE)
    latin = LATIN.fullmatch(unicodedata.name(plain, "")) if len(plain) == 1 and not plain.isascii() else None
    return latin[1].lower() if latin else plain


COMPATIBLE = _Folded(_compatible)
SEEN = _Folded(_seen)


class Marks:
    """The marks of a prompt's fences, given by their names."""

    def __init__(self, names: Sequence[str]) -> None:
        seen = [name.translate(SEEN) for name in names]
        spaced = "|".join(r"\s*".join(map(re.escape, name)) for name in seen)
        plain = "|".join(map(re.escape, seen))
        self._mark = re.compile(rf"(?P<closing>[<‹])(?=\s*(?:/\s*)+(?:{spaced})\b)|<(?=(?:{plain})\b)")

    def broken(self, text: str) -> str:
        """Return the text with such marks, and control tokens of chat templates, broken by an inserted blank."""
        return without_role_tokens(_broken(self._mark, text, SEEN))


def without_role_tokens(text: str, others: Iterable[str] = ()) -> str:
    """Break the control tokens of chat templates in a text, so that a tokenizer reads them as plain text; ``others``
    are control tokens of a tokenizer that is known."""
    text = _broken(ROLE_TOKEN, text, COMPATIBLE)
    for token in others:
        text = text.replace(token, f"{token[0]}{APART}{token[1:]}")
    return text


def _broken(pattern: re.Pattern[str], text: str, folded: _Folded) -> str:
    """The text with each bracket broken that the pattern finds in the folded text."""
    if not BRACKETS.search(text):
        return text
    seen = text.translate(folded)
    found = {match.start(): BROKEN if match.lastgroup else APART for match in pattern.finditer(seen)}
    if not found:
        return text
    places = (match.start() for match in BRACKETS.finditer(seen))  # each bracket folds to one, and nothing else does
    return BRACKETS.sub(lambda bracket: bracket[0] + found.get(next(places), ""), text)
