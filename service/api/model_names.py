"""Names of other people's models, which clients insist on sending."""

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
ALIKE = 0.75  # share of letters in common: one of two names may be a slip of the other


def is_chat_model(name: str, voices: Iterable[str]) -> bool:
    """True for a known family's model that cannot be meant for one of the voices."""
    return CHAT_MODEL.fullmatch(name) is not None and all(
        SequenceMatcher(None, name.casefold(), voice.casefold()).ratio() < ALIKE for voice in voices
    )


def is_reranker(name: str) -> bool:
    """True for a reranker of somebody else's, "rerank-v3.5" or "BAAI/bge-reranker-v2-m3"."""
    return "rerank" in name.casefold() and not name.startswith((".", "/"))
