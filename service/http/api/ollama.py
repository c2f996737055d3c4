"""Ollama's API (``/api/chat``, ``/api/generate`` and more): ``/v1/chat/completions`` in Ollama's format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from time import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from pearl.records import Draft
from pearl.text.usable import format_timestamp
from service.drafting.drafter import Delta
from service.http.api import openai_calls as calls
from service.http.api.bodies import KeyedRoute
from service.http.api.chat_completions import list_models
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.fields import Limit
from service.http.api.openai_fields import UNUSED, describe, passed_over, unreadable_part, unsupported
from service.http.api.streaming import LINES, line, streams
from service.process.threads import in_thread
from service.services import Services
from service.store.keys import Identity
from service.store.voices import WHOLE_HISTORY

router = APIRouter(prefix="/api", tags=["Ollama-compatible"], route_class=KeyedRoute)

VERSION = "0.13.0"  # of Ollama, whose API this follows; clients refuse servers that are too old for them
LATEST = ":latest"  # Ollama's names have a tag, and some clients add it
DETAILS = {"format": "pearl", "family": "pearl", "families": ["pearl"], "parameter_size": "", "quantization_level": ""}
FIELDS = {
    "tools": UNUSED["tools"],
    **{name: UNUSED[name] for name in ("logprobs", "top_logprobs")},
    "format": {"description": "A draft is a text.", "enum": ["", None]},
}
PASSED_OVER = ("think", "top_k", "min_p", "repeat_penalty", "template", "context", "raw")
NOTHING: JsonDict = {"maxItems": 0}


class OllamaOptions(calls.Sampling):
    """Options of the model; others are ignored."""

    num_predict: Limit | None = Field(None, description="Longest draft, tokens.", examples=[400])
    stop: str | list[str] | None = Field(None, description="Texts that end the answer.", examples=[["\n\n\n"]])


class MessageIn(BaseModel):
    """A message of the conversation. Messages of tools are ignored."""

    model_config = ConfigDict(extra="allow")

    role: Literal["system", "user", "assistant", "tool"] = Field(description="The speaker.", examples=["user"])
    content: calls.Written | None = Field(None, description="The message.", examples=[calls.REQUEST])
    images: list[Any] | None = Field(
        None,
        description="Refused in the request, passed over in what was answered before.",
        examples=[None],
        json_schema_extra=NOTHING,
    )

    def turn(self) -> tuple[calls.Speaker, str]:
        text = self.content or ""
        if self.role == "tool" or ("tool_calls" in (self.model_extra or {}) and not text):
            return "tools", ""
        return self.role, text


class OllamaIn(BaseModel):
    """The fields of Ollama's API that have a meaning here. Other fields are ignored; `x-pearl-ignored` names those that
    would have changed the answer. A call that asks for more than a text is refused."""

    model_config = ConfigDict(extra="allow", json_schema_extra=describe(FIELDS))

    model: calls.ModelId = Field(
        None, description=f"{calls.MODEL} The tag `{LATEST}` may follow.", examples=["email:latest"]
    )
    stream: bool | None = Field(None, description="Lines of JSON; true by default.", examples=[False])
    options: OllamaOptions | None = Field(None, description="Options of the model.", examples=[{"num_predict": 400}])

    def _call(self, messages: str, turns: list[tuple[calls.Speaker, str]], ignored: list[str]) -> calls.OpenAICall:
        options = self.options or OllamaOptions.model_construct()
        fields = {**(options.model_extra or {}), **(self.model_extra or {})}
        return calls.OpenAICall(
            model=self.model and self.model.removesuffix(LATEST),
            turns=turns,
            messages=messages,
            most_tokens=options.num_predict,
            limit="options.num_predict",
            sampling=options,
            stream=self.stream is not False,
            ignored=[*passed_over(fields, ("format",), PASSED_OVER), *ignored],
            stop=options.stop,
        )


class OllamaChatIn(OllamaIn):
    __doc__ = OllamaIn.__doc__

    messages: list[MessageIn] = Field(
        [],
        description="The user's last one is the request, with the earlier ones that it follows up on; those of the "
        "`system` are instructions. If there are none, nothing is written: clients load a model in this way.",
        examples=[[{"role": "user", "content": calls.REQUEST}]],
        json_schema_extra={"anyOf": [calls.HAS_A_REQUEST, NOTHING]},
    )

    def call(self) -> calls.OpenAICall:
        """Convert the body to a call. Raises InputError for what is not supported."""
        answered = max((index for index, each in enumerate(self.messages) if each.role == "assistant"), default=-1)
        pictured = [index for index, each in enumerate(self.messages) if each.images]
        if pictured and pictured[-1] > answered:
            raise unsupported(f"messages.{pictured[-1]}.images", unreadable_part("image"))
        turns = [each.turn() for each in self.messages]
        ignored = [
            *(["messages.tool_calls"] if ("tools", "") in turns else []),
            *(["messages.images"] if pictured else []),
        ]
        return self._call("messages", turns, ignored)

    def loads(self) -> bool:
        """True if the call only loads the model, and asks for no text."""
        return not self.messages

    def said(self, text: str) -> dict[str, Any]:
        """Return the part of the answer that holds the text."""
        return {"message": {"role": "assistant", "content": text}}


class OllamaGenerateIn(OllamaIn):
    __doc__ = OllamaIn.__doc__

    prompt: calls.Written | None = Field(
        None,
        description="The request. Without one nothing is written: clients load a model in this way.",
        examples=[calls.REQUEST],
    )
    system: Annotated[calls.Written | None, calls.INSTRUCTIONS] = None
    images: list[Any] | None = Field(None, description="Refused.", examples=[None], json_schema_extra=NOTHING)
    suffix: str | None = Field(
        None, description="Refused: a draft is a whole text.", examples=[None], json_schema_extra={"maxLength": 0}
    )

    def call(self) -> calls.OpenAICall:
        """Convert the body to a call. Raises InputError for what is not supported."""
        if self.images:
            raise unsupported("images", unreadable_part("image"))
        if self.suffix:
            raise unsupported("suffix", "'suffix' is not supported: a draft is a whole text. Leave it out.")
        turns: list[tuple[calls.Speaker, str]] = [("system", self.system or ""), ("user", self.prompt or "")]
        return self._call("prompt", turns, [])

    def loads(self) -> bool:
        """True if the call only loads the model, and asks for no text."""
        return not self.prompt

    def said(self, text: str) -> dict[str, Any]:
        """Return the part of the answer that holds the text."""
        return {"response": text}


LINE = '{"model":"email:latest","message":{"role":"assistant","content":"Hello"},"done":false}\n'
OLDER_LINE = '{"model":"email:latest","response":"Hello","done":false}\n'


@router.post("/chat", summary="Draft through Ollama's API", **streams(LINE, LINES))
async def create_chat(request: Request, services: ServicesDep, caller: Caller, body: OllamaChatIn) -> calls.Answer:
    """Write a draft as `POST /v1/chat/completions` does, in Ollama's format. A stream that fails ends with a line that
    has the message in `error`."""
    return await _answer(request, services, caller, body)


@router.post("/generate", summary="Draft through Ollama's older API", **streams(OLDER_LINE, LINES))
async def create_text(request: Request, services: ServicesDep, caller: Caller, body: OllamaGenerateIn) -> calls.Answer:
    """Do the same as `POST /api/chat` for one prompt, without a conversation."""
    return await _answer(request, services, caller, body)


async def _answer(
    request: Request, services: Services, caller: Identity, body: OllamaChatIn | OllamaGenerateIn
) -> calls.Answer:
    call = body.call()
    if body.loads():
        voice = await in_thread(calls.voice_of_model, services, caller.user.id, call.model)
        model = body.model or (voice.name if voice else WHOLE_HISTORY) + LATEST
        return _line(model, body.said(""), done=True, done_reason="load")
    return await calls.answer(request, services, caller, call, partial(_Answer, body=body))


@dataclass
class _Answer(calls.Shape):
    body: OllamaChatIn | OllamaGenerateIn
    media_type = LINES

    def whole(self, draft: Draft) -> dict[str, Any]:
        return self._end(calls.content(draft), draft)

    def piece(self, delta: Delta) -> Iterator[bytes]:
        yield line(self._line(delta.text))

    def closing(self, draft: Draft) -> Iterator[bytes]:
        yield line(self._end("", draft))

    def failed(self, error: dict[str, Any]) -> bytes:
        return line({**error["error"], "error": error["error"]["message"]})  # its clients want a text in `error`

    def keep_alive(self) -> bytes:
        return line(self._line(""))

    def _line(self, text: str, **more: Any) -> dict[str, Any]:
        return _line(self.body.model or self.model + LATEST, self.body.said(text), **more)

    def _end(self, text: str, draft: Draft) -> dict[str, Any]:
        writing = sum(draft.timings.get(stage, 0.0) for stage in ("generate_ms", "revise_ms"))
        return self._line(
            text,
            done=True,
            done_reason=draft.finish_reason,
            prompt_eval_count=draft.usage.prompt_tokens,
            eval_count=draft.usage.completion_tokens,
            total_duration=int(sum(draft.timings.values()) * 1e6),
            eval_duration=int(writing * 1e6),
            pearl={"id": draft.id, **calls.evidence_of(draft)},
        )


def _line(model: str, said: dict[str, Any], *, done: bool = False, **more: Any) -> dict[str, Any]:
    return {"model": model, "created_at": format_timestamp(time()), **said, "done": done, **more}


@router.get("/tags", summary="List models as Ollama does: each voice is one")
def list_tags(services: ServicesDep, caller: Caller) -> dict[str, list[dict[str, Any]]]:
    listed = list_models(services, caller)  # without the header of Anthropic's clients
    return {
        "models": [
            {
                **dict.fromkeys(("name", "model"), each["id"] + LATEST),
                "modified_at": format_timestamp(each["created"]),
                "size": 0,
                "digest": "",
                "details": DETAILS,
            }
            for each in listed["data"]
        ]
    }


class ShowIn(BaseModel):
    """A model to describe."""

    model: calls.ModelId = Field(None, description="Its name.", examples=["email:latest"])
    name: calls.ModelId = Field(None, description="The same, from older clients.", examples=[None])


@router.post("/show", summary="Describe a model as Ollama does")
def show_model(services: ServicesDep, caller: Caller, body: ShowIn) -> dict[str, Any]:
    asked = body.model or body.name
    calls.voice_of_model(services, caller.user.id, asked and asked.removesuffix(LATEST))
    context = {"general.architecture": "pearl", "pearl.context_length": services.drafter.model.context_tokens}
    return {"details": DETAILS, "model_info": context, "capabilities": ["completion"]}


@router.get("/version", summary="Version of Ollama's API")
async def get_version(caller: Caller) -> dict[str, str]:
    return {"version": VERSION}
