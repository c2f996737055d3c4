"""``/v1/voices``: the caller's voices."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from pearl.text.templates import load_template, template_names
from service.http.api.account import ANSWERS, deletion_answer
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.fields import KnownFields, Name, OfRecord, StandingInstructions
from service.process.threads import writes
from service.store import calibrations, voices
from service.store.voices import MOST_INSTRUCTIONS

router = APIRouter(prefix="/v1/voices", tags=["voices"], route_class=KeyedRoute)


class VoiceIn(KnownFields):
    """The settings of a voice; absent fields stay as they are."""

    instructions: StandingInstructions = Field(
        "",
        description=f"Standing instructions, at most {MOST_INSTRUCTIONS:,} characters; they outrank the learned style.",
        examples=["British spelling."],
    )
    template: str = Field(
        "free",
        description="The prompt template.",
        examples=["message"],
        json_schema_extra={"enum": list(template_names())},
    )
    k: int | None = Field(
        None, ge=1, le=20, description="Documents to show the model; null for the template's number.", examples=[4]
    )
    local_only: bool = Field(
        False, description="Show its texts to no model outside the service's machine.", examples=[False]
    )
    edges: bool = Field(True, description="Begin and end drafts as its texts do, by rule.", examples=[True])


class VoiceOut(OfRecord):
    """A voice: a named register of yours, and its settings."""

    name: str = Field(description="Its name, also its model id.", examples=["email"])
    object: Literal["voice"] = Field(description="Always `voice`.")
    instructions: str = Field(description="Standing instructions.", examples=["British spelling."])
    template: str = Field(description="The prompt template.", examples=["message"])
    k: int | None = Field(description="Documents to show the model; null for the template's number.", examples=[None])
    documents: int = Field(description="Number of documents in it.", examples=[30])
    local_only: bool = Field(
        description="Its texts are shown to no model outside the service's machine.", examples=[False]
    )
    edges: bool = Field(description="Drafts begin and end as its texts do, by rule.", examples=[True])


class CalibrationOut(OfRecord):
    """Theta (revise below it), margin and k (documents to show), chosen on your past texts by `pearl calibrate`."""

    id: str = Field(description="Drafts that it decided on name it.", examples=["calibration_0192f0c4b1aa7d0e5c2f9b1c"])
    retriever: str = Field(description="The retriever that it holds for.", examples=["embedded 0f3a9c0d11e24b57"])
    model: str = Field(description="The chat model that it holds for.", examples=["llama3.2"])
    in_use: bool = Field(description="True when drafts are written with both now.", examples=[True])
    settings: dict[str, Any] = Field(
        description="`threshold` (a number, `all`, or null for never), `margin` and `k`, those alone that were better "
        "than their defaults.",
        examples=[{"threshold": -0.41}],
    )
    figures: dict[str, Any] = Field(description="What they were chosen from.", examples=[{"texts": 40}])
    created_at: float = Field(description="Unix seconds.", examples=[1772357400.25])


class CalibratedVoiceOut(VoiceOut):
    """A voice with its calibrations."""

    calibrations: list[CalibrationOut] = Field(description="The newest first.", examples=[[]])


class VoiceList(BaseModel):
    """All voices."""

    object: Literal["list"] = Field(description="Always `list`.")
    data: list[VoiceOut] = Field(description="Voices, by name.", examples=[[]])


VoiceName = Annotated[Name, Path(description="The voice's name.", examples=["email"])]


@router.get("", summary="List your voices")
def list_voices(services: ServicesDep, caller: Caller) -> VoiceList:
    with services.database.read() as connection:
        listed = voices.list_counted(connection, caller.user.id)
    return VoiceList(object="list", data=[VoiceOut.of(voice) for voice in listed])


@router.get("/{name:path}", summary="Show a voice with its calibrations")
def get_voice(services: ServicesDep, caller: Caller, name: VoiceName) -> CalibratedVoiceOut:
    """Get a voice with its calibrations; `pearl` is the whole history."""
    retriever, model = services.histories.retriever.fingerprint, services.model.name
    with services.database.read() as connection:
        voice = voices.get_or_whole(connection, caller.user.id, name)
        calibrated = calibrations.of_voice(connection, caller.user.id, voices.chosen(name))
    shown = [
        CalibrationOut.of(
            calibration,
            retriever=calibration.key.retriever,
            model=calibration.key.model,
            in_use=(calibration.key.retriever, calibration.key.model) == (retriever, model),
        )
        for calibration in calibrated
    ]
    return CalibratedVoiceOut.of(voice, calibrations=shown)


@router.put(
    "/{name:path}", summary="Make or change a voice", responses={201: {"model": VoiceOut, "description": "Made."}}
)
@writes
def put_voice(services: ServicesDep, caller: Caller, name: VoiceName, body: VoiceIn, response: Response) -> VoiceOut:
    """The voice has the documents that were imported or added under its name."""
    voices.check_name(name)
    load_template(body.template)
    values = body.model_dump(exclude_unset=True)
    with services.database.write() as connection:
        response.status_code = 201 if voices.put(connection, caller.user.id, name, values) else 200
        return VoiceOut.of(voices.get_counted(connection, caller.user.id, name))


@router.delete("/{name:path}", status_code=204, responses=ANSWERS, summary="Delete a voice")
@writes
def delete_voice(services: ServicesDep, caller: Caller, name: VoiceName) -> Response:
    """Delete the voice; its documents stay in the history, without a voice. A local-only voice that still has documents
    cannot be deleted."""
    with services.database.write(deletes=True) as connection:
        voices.remove(connection, caller.user.id, name)
    return deletion_answer(services.forget_deleted(caller.user.id))
