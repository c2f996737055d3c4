"""``/v1/profile``: the caller's voice card."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field

from service.histories.profile import Profile, choose_line, shown_as, use_as_instructions
from service.http.api.account import ANSWERS, deletion_answer
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.fields import KnownFields, Name, Text, where
from service.process.threads import writes
from service.services import Services
from service.store import profiles, voices
from service.store.profiles import DELETED, LineChoice, checked_choice

router = APIRouter(prefix="/v1/profile", tags=["profile"], route_class=KeyedRoute)


class ProfileOut(BaseModel):
    """A person's manner in one voice, or in their whole history."""

    object: Literal["profile"] = Field(description="Always `profile`.")
    voice: str | None = Field(description="The voice; null for the whole history.", examples=["email"])
    texts: int = Field(description="Texts that were read: the newest 500 of your own.", examples=[30])
    occasions: int = Field(description="Days on which they were written.", examples=[28])
    left_out: int = Field(
        description="Texts among them that no line counts: in a language that those authors do not write.", examples=[0]
    )
    needs: str | None = Field(description="What the history lacks for a card; null if nothing.", examples=[None])
    compared_with: str = Field(description="Whose rates yours are held against.", examples=["81 authors"])
    standing: bool = Field(description="True when the lines are standing instructions.", examples=[False])
    edges: dict[str, dict[str, Any] | None] = Field(
        description="The words with which most of these texts begin, `greeting`, and end, `sign_off`, null where there "
        "are none: `text`, with … for a name that changes, the number of `texts` that have it `of` those read, the "
        "`share` with its 95% interval, and `examples` with their ids.",
        examples=[{"greeting": {"text": "Hello …, kettle's on.", "texts": 28, "of": 30}, "sign_off": None}],
    )
    lines: list[dict[str, Any]] = Field(
        description="Habits: `name`, `state` (listed, confirmed, corrected, struck), `text`, `instruction`, `rate` "
        "with its 95% interval, `usual`, `unit`, `direction`, the number of `texts` and `occasions` that show it, and "
        "`examples` with their ids.",
        examples=[[{"name": "semicolons", "state": "listed", "text": "You use more semicolons than others."}]],
    )
    edits: dict[str, Any] = Field(
        description="What you kept, added and removed of the drafts that you sent, the mean distance, its trend (newer "
        "half less older half) and its means by month.",
        examples=[{"drafts": 12, "accepted": 3, "edited": 9, "rejected": 1}],
    )
    recipients: list[dict[str, Any]] = Field(
        description="Your manner to each recipient of at least 20 of these texts: `texts`, the share with a `greeting` "
        "and a `sign_off` with 95% intervals, `usual_greeting`, the median of `words`, and all of it in `text`.",
        examples=[[]],
    )
    pushes: list[dict[str, Any]] = Field(
        description="Traits that your edits change, with intervals and Holm's p-values, from five sent drafts on.",
        examples=[[]],
    )


class LineIn(KnownFields):
    """Your choice on a line of the voice card."""

    model_config = ConfigDict(
        json_schema_extra=where(
            "state", "corrected", {"required": ["text"], "properties": {"text": {"type": "string"}}}
        )
        | {"else": {"properties": {"text": {"type": "null"}}}}
    )

    state: Literal["listed", "confirmed", "corrected", "struck"] = Field(
        description="`listed` takes back what you said.", examples=["corrected"]
    )
    text: Text | None = Field(None, description="The right text; for `corrected`.", examples=["Dashes in posts only."])


class ProfileChange(KnownFields):
    """The changes to make to a profile."""

    standing: bool = Field(description="Use the lines as standing instructions in drafts.", examples=[True])


VoiceQuery = Annotated[
    Name | None, Query(description="The voice; the whole history if absent or `pearl`.", examples=["email"])
]
LineName = Annotated[Name, Path(description="The line's name.", examples=["semicolons"])]


@router.get(
    "",
    summary="Your manner, with its evidence",
    response_model=ProfileOut,
    responses={200: {"content": {"text/plain": {"example": "Write in this person's manner:\n- End with a question."}}}},
)
async def get_profile(
    services: ServicesDep,
    caller: Caller,
    voice: VoiceQuery = None,
    format: Annotated[
        Literal["json", "text", "prompt", "skill"],
        Query(description="`text`: the card in words; `prompt`: instructions for any model; `skill`: a SKILL.md."),
    ] = "json",
) -> Response:
    """Get your own voice card; nobody else's can be named. Texts that a machine mostly wrote do not count."""
    card = await services.ranking.run(caller.user.id, services.profiles.get, caller.user.id, voices.chosen(voice))
    return _answer(card) if format == "json" else PlainTextResponse(shown_as(card, format))


@router.patch("", summary="Use the lines as standing instructions, or end that", response_model=ProfileOut)
@writes
def change_profile(services: ServicesDep, caller: Caller, body: ProfileChange, voice: VoiceQuery = None) -> Response:
    """The instructions stay as the lines are now until you change a line or call this again."""
    card = services.profiles.get(caller.user.id, voices.chosen(voice))
    with services.database.write() as connection:
        return _answer(use_as_instructions(connection, caller.user.id, card, body.standing))


@router.put("/lines/{name:path}", summary="Confirm, correct or strike out a line", response_model=ProfileOut)
@writes
def put_line(services: ServicesDep, caller: Caller, name: LineName, body: LineIn, voice: VoiceQuery = None) -> Response:
    """A struck line stays on the card, but is no instruction; a confirmed or corrected line stays when texts change."""
    return _answer(_choose(services, caller.user.id, voice, name, checked_choice(name, body.model_dump())))


@router.delete("/lines/{name:path}", status_code=204, responses=ANSWERS, summary="Delete a line")
@writes
def delete_line(services: ServicesDep, caller: Caller, name: LineName, voice: VoiceQuery = None) -> Response:
    """Take the habit off the card for good; `PUT` with the state `listed` undoes that."""
    _choose(services, caller.user.id, voice, name, LineChoice(DELETED))
    return deletion_answer(services.forget_deleted(caller.user.id))


@router.delete("", status_code=204, responses=ANSWERS, summary="Forget what you said of the lines")
@writes
def delete_profile(services: ServicesDep, caller: Caller, voice: VoiceQuery = None) -> Response:
    """Forget your edits of the card. Measured lines stay."""
    user_id, voice = caller.user.id, voices.chosen(voice)
    with services.database.write(deletes=True) as connection:
        if voice is not None:
            voices.get(connection, user_id, voice)
        profiles.remove(connection, user_id, voice)
    return deletion_answer(services.forget_deleted(user_id))


def _answer(card: Profile) -> JSONResponse:
    return JSONResponse(card.to_json())


def _choose(services: Services, user_id: int, voice: str | None, name: str, choice: LineChoice) -> Profile:
    card = services.profiles.get(user_id, voices.chosen(voice))
    with services.database.write() as connection:
        return choose_line(connection, user_id, card, name, choice)
