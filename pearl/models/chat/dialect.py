"""The API parameters that an endpoint's model accepts, learned from the errors it answers with.

Reasoning models take ``max_completion_tokens`` in place of ``max_tokens`` and no choice of decoding; others refuse two
parameters together; strict servers refuse every field that they do not know. Their errors say which.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pearl.models.chat.base import Decoding, Message
from pearl.models.chat.failures import Complaint
from pearl.text.fences import without_role_tokens

LIMITS = ("max_tokens", "max_completion_tokens")
OTHER_NAMES = {"stop": ("stop_sequences", "stopSequences"), "top_p": ("topP",)}
NEVER_PROSE = frozenset({"stream", "stop"})  # words as well as names: they count only where they are marked as such
UNSUPPORTED = re.compile(
    r"unsupported|n[o']t (be )?(support|permit|allow|accept|recogni|expect|available)|does not (take|accept)|cannot|"
    r"unknown|unrecogni[sz]ed|unexpected|extra |deprecated|invalid (json|field|param|argument)|instead|both|"
    r"only .*default",
    re.IGNORECASE,
)
UNSUPPORTED_KINDS = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"})
OUT_OF_RANGE = re.compile(
    r"between|at (most|least)|(less|greater|more) than|or equal|too (large|small|high|low)|range", re.IGNORECASE
)
TOO_GREEDY = re.compile(r"positive|(greater|larger|more) than 0|> 0", re.IGNORECASE)
GREEDY = "temperature=0"  # where only this value of it is refused


@dataclass(frozen=True, slots=True)
class Dialect:
    """The API parameters that a model refuses; all others are sent."""

    refused: frozenset[str] = frozenset()  # names of parameters
    reasons: bool = False  # its hidden reasoning counts among the tokens that it may write

    @property
    def limit(self) -> str | None:
        """The name of the parameter that limits the answer's tokens; None if the model refuses both names."""
        return next((name for name in LIMITS if name not in self.refused), None)

    def body(
        self, model: str, messages: Sequence[Message], decoding: Decoding, room: int, *, stream: bool
    ) -> dict[str, Any]:
        """Build the body of a call. ``room``: tokens allowed for reasoning, in addition to the answer's."""
        greedy = decoding.temperature == 0 and GREEDY in self.refused
        wanted: dict[str, Any] = {
            **({self.limit: decoding.max_tokens + room} if self.limit else {}),
            **({} if greedy else {"temperature": decoding.temperature}),
            "top_p": decoding.top_p,
            **({"stop": list(decoding.stop)} if decoding.stop else {}),
            **({"stream": True, "stream_options": {"include_usage": True}} if stream else {}),
        }
        # the prompt's fences hold data; instructions and a client's own task are not fenced
        turns = [{"role": message.role, "content": without_role_tokens(message.content)} for message in messages]
        taken = {name: value for name, value in wanted.items() if name not in self.refused}
        return {"model": model, "messages": turns, **taken}

    def after(self, complaint: Complaint, sent: Mapping[str, Any]) -> Dialect | None:
        """Return the dialect that also refuses what the complaint names; None if it names nothing that was ``sent``."""
        if complaint.too_long:
            return None
        named = _named(complaint, sent)
        if "temperature" in named and sent["temperature"] == 0 and TOO_GREEDY.search(complaint.sentence):
            return replace(self, refused=self.refused | {GREEDY})
        if not named or not _is_refusal(complaint):
            return None
        # a model that takes no max_tokens does so because its reasoning counts as well
        return Dialect(self.refused | named, self.reasons or "max_tokens" in named)


def _is_refusal(complaint: Complaint) -> bool:
    """True for a parameter that is not taken at all; False for a value that is out of its range."""
    if complaint.kinds & UNSUPPORTED_KINDS:
        return True
    sentence = complaint.sentence
    return UNSUPPORTED.search(sentence) is not None and OUT_OF_RANGE.search(sentence) is None


def _named(complaint: Complaint, sent: Mapping[str, Any]) -> set[str]:
    """The parameters that a complaint names: in its fields or, if there are none, in its sentence."""
    ours = set(sent) - {"model", "messages"}
    fields = ours & complaint.fields
    if fields:
        return fields
    mentioned = {name for name in ours if _mentions(complaint.sentence, name)}
    # of two that exclude each other the temperature stays
    return mentioned - {"temperature"} if {"temperature", "top_p"} <= mentioned else mentioned


def _mentions(sentence: str, name: str) -> bool:
    names = "|".join((name, *OTHER_NAMES.get(name, ())))
    before = "(['\"`]|param\\S* )" if name in NEVER_PROSE else r"(?<!\w)"
    return re.search(rf"{before}({names})(?!\w)", sentence) is not None
