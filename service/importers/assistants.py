"""One's own turns in conversations with ChatGPT and Claude, from the data that each sends on request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pearl.errors import InputError
from pearl.files.json_stream import as_object
from pearl.text.usable import parse_timestamp
from service.importers.archive import Archive, ArchiveImporter
from service.importers.base import NO_TEXT, NOT_MINE, Items, LeftOut, Options, SourceDocument
from service.importers.fields import missing_field, object_or_empty

VOICE = "prompts"  # nobody writes to a person as to a program
HIDDEN = "is_visually_hidden_from_conversation"


class AssistantImporter(ArchiveImporter):
    """An export of conversations; a turn's request is what the program had said before it."""

    needs_me = False
    program: str  # the recipient
    patterns = ("conversations*.json",)
    missing = "there is no conversations.json in it."
    by_any_name = True

    def items(self, archive: Archive, names: list[str], options: Options) -> Items:
        yield from archive.each(names, lambda name: self._read_file(archive, name, options))

    def _read_file(self, archive: Archive, name: str, options: Options) -> Iterator[SourceDocument | LeftOut]:
        for where, value in archive.elements(name, advance=options.advance):
            try:
                conversation = as_object(value)
                for part, turn in enumerate(self.turns(conversation), start=1):
                    yield self._item(turn, _id_of(conversation), options, f"{where}/{part}")
            except InputError as error:
                yield LeftOut.because_of(error, where)

    def _item(self, turn: Turn | LeftOut, thread: str, options: Options, where: str) -> SourceDocument | LeftOut:
        if isinstance(turn, LeftOut):
            return LeftOut(where, turn.reason)
        try:
            id_, time, text, answered = turn
            if not text.strip():
                return LeftOut(where, NO_TEXT)
            seconds = parse_timestamp(time, param="create_time")
            voice, name = options.voice or VOICE, f"{self.name}:{id_}"
            of = f"{self.name}:{thread}" if thread else None
            return options.document(
                where, name, text.strip(), seconds, answered, voice, recipient=self.program, thread=of
            )
        except InputError as error:
            return LeftOut.because_of(error, where)

    def turns(self, conversation: dict[str, Any]) -> Iterator[Turn | LeftOut]:
        raise NotImplementedError


Turn = tuple[str, Any, str, str | None]  # id, time, text, and what was said before it


class ChatGptImporter(AssistantImporter):
    name = "chatgpt"
    summary = "Your turns with ChatGPT, from the data that OpenAI sends."
    examples = ("pearl import chatgpt chatgpt-export.zip --user ann",)
    program = "ChatGPT"

    def turns(self, conversation: dict[str, Any]) -> Iterator[Turn | LeftOut]:
        """The turns on the way to the newest one; prompts that were edited later are other ways."""
        nodes = as_object(conversation.get("mapping"))
        way: dict[str, dict[str, Any]] = {}  # from the newest turn back
        at = conversation.get("current_node")
        while isinstance(at, str) and at in nodes and at not in way:
            way[at] = object_or_empty(nodes[at])
            at = way[at].get("parent")
        said = None
        for id_, node in reversed(way.items()):
            message = object_or_empty(node.get("message"))
            role, text = _role(node), _written(object_or_empty(message.get("content")))
            if role == "user" and not object_or_empty(message.get("metadata")).get(HIDDEN):
                yield str(message.get("id") or id_), message.get("create_time"), text, said
            elif role == "assistant":
                yield LeftOut("", NOT_MINE)
                said = text or said
        edited = sum(_role(object_or_empty(node)) == "user" for id_, node in nodes.items() if id_ not in way)
        yield from [LeftOut("", "replaced by an edited prompt")] * edited


class ClaudeImporter(AssistantImporter):
    name = "claude"
    summary = "Your turns with Claude, from the data that Anthropic sends."
    examples = ("pearl import claude data-2026-03-01.zip --user ann",)
    program = "Claude"

    def turns(self, conversation: dict[str, Any]) -> Iterator[Turn | LeftOut]:
        messages = conversation.get("chat_messages")
        if not isinstance(messages, list):
            raise missing_field("chat_messages")
        said = None
        for message in map(object_or_empty, messages):
            content = message.get("content")
            blocks = [object_or_empty(block) for block in content] if isinstance(content, list) else []
            texts = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
            text = "\n\n".join(filter(None, texts)) or str(message.get("text") or "")
            if message.get("sender") == "human":
                yield str(message.get("uuid")), message.get("created_at"), text, said
            else:
                yield LeftOut("", NOT_MINE)
                said = text or said


def _role(node: dict[str, Any]) -> Any:
    return object_or_empty(object_or_empty(node.get("message")).get("author")).get("role")


def _id_of(conversation: dict[str, Any]) -> str:
    return str(conversation.get("conversation_id") or conversation.get("id") or conversation.get("uuid") or "")


def _written(content: dict[str, Any]) -> str:
    """The text of a message without pictures, sound and programs' calls."""
    if content.get("content_type") not in ("text", "multimodal_text"):
        return ""
    parts = content.get("parts")
    return "\n\n".join(part for part in parts if isinstance(part, str) and part) if isinstance(parts, list) else ""
