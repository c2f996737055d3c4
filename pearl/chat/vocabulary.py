"""The tokens of a model whose GGUF file has a byte-level vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers

CONTROL = 3  # GGUF's type of a token that no text has, such as the end of a turn


class Vocabulary:
    """Texts to tokens and back. Any number of threads may use it at once."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        """Read it from a GGUF file's fields. Raises LookupError where there is none."""
        self._tokenizer = byte_pairs(fields)
        # as llama.cpp reads this kind, "smollm": each digit is a token
        split = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        self._tokenizer.pre_tokenizer = pre_tokenizers.Sequence(split)
        words = fields["tokenizer.ggml.tokens"]
        self._control = {
            word for word, kind in zip(words, fields["tokenizer.ggml.token_type"], strict=True) if kind == CONTROL
        }
        self._pieces = [b"" if word in self._control else _bytes_of(word) for word in words]
        self._tokens = {piece: token for token, piece in enumerate(self._pieces) if piece}
        self.end: int = fields["tokenizer.ggml.eos_token_id"]

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text, in which no characters become a control token."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def control(self, marker: str) -> int:
        """The control token that is written so."""
        token = self._tokenizer.token_to_id(marker)
        assert token is not None
        return int(token)

    def ends(self, token: int) -> bool:
        """True for a token that ends a turn: every control token does, since no answer has one."""
        return not self._pieces[token]

    def piece(self, token: int) -> bytes:
        """The bytes of a token, which may be part of a character; none for a control token."""
        return self._pieces[token]

    def token(self, piece: bytes) -> int | None:
        """The token of these bytes, if there is one."""
        return self._tokens.get(piece)


def byte_pairs(fields: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer of a GGUF file's fields, which does not yet split texts. Raises LookupError where there is none."""
    words = {word: place for place, word in enumerate(fields["tokenizer.ggml.tokens"])}
    return Tokenizer(models.BPE(words, [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]))


def _bytes_of(word: str) -> bytes:
    return bytes(BYTES[character] for character in word)


def _bytes() -> dict[str, int]:
    """The characters in which a byte-level vocabulary writes the 256 bytes: the printable ones as they are, the others
    from U+0100 on, in order."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + place): byte for place, byte in enumerate(others)}


BYTES = _bytes()
