"""A person's own messages to ChatGPT and Claude, from the exports that OpenAI and Anthropic send on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from pearl.errors import InputError
from pearl.text.files.json_stream import as_object
from pearl.text.usable import parse_timestamp
from service.importing.sources.archive import Archive, ArchiveImporter, list_or_empty, missing_field, object_or_empty
from service.importing.sources.base import NO_TEXT, NOT_MINE, Item, Items, LeftOut, Options, read_each

VOICE = "prompts"  # nobody writes to a person as to a program
REPLACED = "replaced by an edited prompt"
HIDDEN = "is_visually_hidden_from_conversation"


class AssistantImporter(ArchiveImporter):
    """Base of importers for chats with an assistant. A message's request is what the assistant said before it."""

    program: str  # the recipient
    patterns = ("conversations*.json",)
    missing = "there is no conversations.json in it."
    by_any_name = True

    def items(self, archive: Archive, names: list[str], options: Options) -> Items:
        yield from archive.each(names, lambda name: self._read_file(archive, name, options))

    def _read_file(self, archive: Archive, name: str, options: Options) -> Iterator[Item]:
        for where, value in archive.elements(name, advance=options.advance):
            try:
                conversation = as_object(value)
                placed = ((f"{where}/{part}", turn) for part, turn in enumerate(self.turns(conversation), start=1))
                yield from read_each(placed, partial(self._item, _id_of(conversation), options))
            except InputError as error:
                yield LeftOut.because_of(error, where)

    def _item(self, thread: str, options: Options, turn: Turn | LeftOut, where: str) -> Item:
        if isinstance(turn, LeftOut):
            return LeftOut(where, turn.reason)
        id_, time, text, answered = turn
        if not text.strip():
            return LeftOut(where, NO_TEXT)
        seconds = parse_timestamp(time, param="create_time")
        voice, name = options.voice or VOICE, f"{self.name}:{id_}"
        of = f"{self.name}:{thread}" if thread else None
        return options.document(where, name, text.strip(), seconds, answered, voice, recipient=self.program, thread=of)

    def turns(self, conversation: dict[str, Any]) -> Iterator[Turn | LeftOut]:
        raise NotImplementedError


Turn = tuple[str, Any, str, str | None]  # id, time, text, and what was said before it


class ChatGptImporter(AssistantImporter):
    name = "chatgpt"
    summary = "Your turns with ChatGPT, from the data that OpenAI sends."
    examples = ("pearl import chatgpt chatgpt-export.zip --user ann",)
    program = "ChatGPT"

    def turns(self, conversation: dict[str, Any]) -> Iterator[Turn | LeftOut]:
        nodes = {id_: object_or_empty(node) for id_, node in as_object(conversation.get("mapping")).items()}
        above = {str(child): id_ for id_, node in nodes.items() for child in list_or_empty(node.get("children"))}
        above |= {id_: node["parent"] for id_, node in nodes.items() if isinstance(node.get("parent"), str)}
        times = {id_: object_or_empty(node.get("message")).get("create_time") for id_, node in nodes.items()}
        way = _way(above, times, conversation.get("current_node"))
        said = None
        for id_ in way:
            node = nodes[id_]
            message = object_or_empty(node.get("message"))
            role, text = _role(node), _written(object_or_empty(message.get("content")))
            if role == "user" and not object_or_empty(message.get("metadata")).get(HIDDEN):
                yield str(message.get("id") or id_), message.get("create_time"), text, said
            elif role == "assistant":
                yield LeftOut("", NOT_MINE)
                said = text or said
        edited = sum(_role(nodes[id_]) == "user" for id_ in nodes.keys() - set(way))
        yield from [LeftOut("", REPLACED)] * edited


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
        turns = {str(turn.get("uuid") or number): turn for number, turn in enumerate(map(object_or_empty, messages))}
        above = {id_: str(turn.get("parent_message_uuid")) for id_, turn in turns.items()}
        times = {id_: turn.get("created_at") for id_, turn in turns.items()}
        is_tree = not turns.keys().isdisjoint(above.values())
        way = set(_way(above, times, conversation.get("current_leaf_message_uuid")) if is_tree else turns)
        for id_, message in turns.items():
            if id_ not in way:
                yield LeftOut("", REPLACED if message.get("sender") == "human" else NOT_MINE)
                continue
            blocks = map(object_or_empty, list_or_empty(message.get("content")))
            texts = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
            text = "\n\n".join(filter(None, texts)) or str(message.get("text") or "")
            if message.get("sender") == "human":
                yield str(message.get("uuid")), message.get("created_at"), text, said
            else:
                yield LeftOut("", NOT_MINE)
                said = text or said


def _way(above: Mapping[str, str], times: Mapping[str, Any], current: Any) -> list[str]:
    """Return the ids of one branch of a conversation, from its first turn to ``current``, or to the newest last turn if
    ``current`` is unknown. Editing a prompt makes another branch. ``above``: the turn before each turn, by id."""
    followed = {above[id_] for id_ in times if id_ in above}
    newest = max((id_ for id_ in times if id_ not in followed), key=lambda id_: _moment(times[id_]), default=None)
    at: str | None = current if isinstance(current, str) and current in times else newest
    way = dict[str, None]()
    while at is not None and at in times and at not in way:
        way[at] = None
        at = above.get(at)
    return list(reversed(way))


def _moment(time: Any) -> float:
    with suppress(InputError):
        return parse_timestamp(time)
    return 0


def _role(node: dict[str, Any]) -> Any:
    return object_or_empty(object_or_empty(node.get("message")).get("author")).get("role")


def _id_of(conversation: dict[str, Any]) -> str:
    return str(conversation.get("conversation_id") or conversation.get("id") or conversation.get("uuid") or "")


def _written(content: dict[str, Any]) -> str:
    """Return the text of a message, without pictures, sound and tool calls."""
    if content.get("content_type") not in ("text", "multimodal_text"):
        return ""
    return "\n\n".join(part for part in list_or_empty(content.get("parts")) if isinstance(part, str) and part)
