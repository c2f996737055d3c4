"""Recognizing names of well-known models, which clients send whatever the server has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

FAMILIES = (
    "chatgpt|claude|codestral|command|deepseek|gemini|gemma|glm|gpt|grok|jamba|kimi|llama|magistral|ministral|mistral|"
    "mixtral|nova|phi|qwen|smollm|text-davinci"
)
# "gpt-4o", "openai/gpt-4o-mini", "llama3.2:3b", "o3-mini", but not "gpt" or "command", which a misspelt voice may be
CHAT_MODEL = re.compile(
    rf"(\w[\w.-]*/)*(({FAMILIES})([-_.:]?v?\d[\w.:-]*|-[a-z][\w.:-]*)|o[1-9](-[\w.:-]+)?)", re.IGNORECASE
)
ALIKE = 0.75  # share of letters in common from which one name may be a misspelling of the other


def is_chat_model(name: str, voices: Iterable[str]) -> bool:
    """True for a model of a known family, unless the name may be a misspelt voice."""
    return CHAT_MODEL.fullmatch(name) is not None and all(
        SequenceMatcher(None, name.casefold(), voice.casefold()).ratio() < ALIKE for voice in voices
    )


def is_reranker(name: str) -> bool:
    """True for another provider's reranker, such as "rerank-v3.5" or "BAAI/bge-reranker-v2-m3"."""
    return "rerank" in name.casefold() and not name.startswith((".", "/"))
