"""``POST /v1/likeness``: the probability that the caller wrote a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter
from pydantic import Field

from pearl.text.usable import counted
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.fields import KnownFields, Name, OfRecord, Text
from service.services import Services
from service.store import voices

if TYPE_CHECKING:
    from pearl.style.likeness.likeness import Likeness, LikenessScore

router = APIRouter(prefix="/v1", tags=["likeness"], route_class=KeyedRoute)


class LikenessIn(KnownFields):
    """A text to compare with your history."""

    text: Text = Field(description="The text; 30 words or more.", examples=["Hello Tomas, the kettle is on ..."])
    voice: Name | None = Field(
        None, description="The voice; the whole history if absent or `pearl`.", examples=["email"]
    )


class HistoryFitted(OfRecord):
    """The texts of your history that the answer is based on."""

    texts: int = Field(description="Different texts of your own.", examples=[120])
    words: int = Field(description="Their words.", examples=[14200])
    left_out: int = Field(description="Texts in a language that the impostors do not write.", examples=[0])


class LikenessOut(OfRecord):
    """The probability that you wrote the text, or why it cannot be said."""

    object: Literal["likeness"] = Field(description="Always `likeness`.")
    probability: float | None = Field(
        description="That you wrote it, where you are as likely as not to have; null where that cannot be said.",
        examples=[0.91],
    )
    verdict: Literal["yours", "unclear", "unlike", "too_short", "history_too_small", "other_language"] = Field(
        description="`yours` from 0.8 on and `unlike` up to 0.2; `too_short` below 30 words, `history_too_small` below "
        "5 texts or 300 words, `other_language` for one that the impostors do not write.",
        examples=["yours"],
    )
    words: int = Field(description="Words of the text.", examples=[84])
    log_ratio: float | None = Field(
        description="Mean logarithm, in nats a token, of how much likelier your texts make it than the impostors'.",
        examples=[0.31],
    )
    voice: str | None = Field(description="The voice; null for the whole history.", examples=["email"])
    impostors: str = Field(
        description="Whom you are told apart from: a register that comes with PEARL, `messages`, `mail` or `commits`.",
        examples=["messages"],
    )
    history: HistoryFitted = Field(description="The texts that the answer stands on.")
    note: str | None = Field(
        description="How far to trust the probability, where the impostors are fewer than 50 people, as `mail`'s are.",
        examples=[None],
    )

    @classmethod
    def made(cls, score: LikenessScore, model: Likeness, voice: str | None) -> LikenessOut:
        from pearl.style.likeness.impostors import AGAINST_FEW, FEW

        name, people = model.reference.name, model.reference.authors
        note = None
        if score.probability is not None and people < FEW:
            note = f"The impostors ({name}) are only {people} people: {AGAINST_FEW}"
        return cls.of(score, voice=voice, impostors=name, history=HistoryFitted.of(model), note=note)

    @property
    def left_out(self) -> str:
        """Say in words how many texts were left out because of their language."""
        texts = counted(self.history.left_out, "text")
        return f"{texts} in a language that the impostors ({self.impostors}) do not write"

    @property
    def unsaid(self) -> str | None:
        """The reason, in words, why there is no probability; None if there is one."""
        from pearl.style.likeness.likeness import LEAST_HISTORY_WORDS, LEAST_TEXTS, LEAST_WORDS

        others = f" Left out: {self.left_out}." if self.history.left_out else ""
        return {
            "too_short": f"Too short to say: {counted(self.words, 'word')}; {LEAST_WORDS} are needed.",
            "history_too_small": f"Too small a history to say: {counted(self.history.texts, 'text')} with "
            f"{counted(self.history.words, 'word')}; {LEAST_TEXTS} with {LEAST_HISTORY_WORDS} are needed.{others}",
            "other_language": f"The text is in a language that the impostors ({self.impostors}) do not write.",
        }.get(self.verdict)


@router.post("/likeness", summary="How much a text sounds like you")
async def likeness(services: ServicesDep, caller: Caller, body: LikenessIn) -> LikenessOut:
    """Compare a text with your own history alone, without texts that a machine mostly wrote. Your likeness models are
    fitted at the first call after your history changed, and kept in memory."""
    voice = voices.chosen(body.voice)
    return await services.ranking.run(caller.user.id, likeness_of, services, caller.user.id, voice, body.text)


def likeness_of(services: Services, user_id: int, voice: str | None, text: str) -> LikenessOut:
    """Score how much a text sounds like the user. Raises NotFound for an unknown voice."""
    if voice is not None:
        with services.database.read() as connection:
            voices.get(connection, user_id, voice)  # raises an error if there is none
    model = services.likenesses.get(user_id, voice)
    return LikenessOut.made(model.score(text), model, voice)
