"""Tasks that chat clients give a model by themselves: titles, tags, follow-ups, search queries, completions.

Such a task is about the conversation and not a text of the person, so it goes to the model as it is: without the
history, and without a record. It is known by what it asks for, of a conversation, in a form that programs use.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from pearl.chat.base import ChatModel, Decoding, Message, Role, complete
from pearl.clock import Clock
from pearl.errors import ChatRefused
from pearl.reasoning import without_reasoning
from pearl.records import Draft, Retrieval, Revision
from pearl.texts import storable
from service.drafting import Delta, Event, Finished, Retrieved
from service.store.ids import new_id

ENDS = 600  # characters at the beginning and the end of a message that say what it asks for
LONGEST_SEARCH = 20_000  # characters
PASSED_ON = "passed_on"

_ABOUT = r"(?:chat|conversation|dialog(?:ue)?|discussion|thread|messages?|topic|chat[ _]history)"
_FLAGS = re.IGNORECASE | re.DOTALL
WANTED = tuple(
    re.compile(pattern, _FLAGS)
    for pattern in (
        rf"\b(?:title|name|topic|heading)\b.{{0,80}}\b(?:for|of|to|summari[sz]ing|capturing|describing)\b.{{0,60}}\b{_ABOUT}\b",
        rf"\b{_ABOUT}\b.{{0,40}}\b(?:a|an|into a|with a)\b.{{0,40}}\b(?:title|name|topic)\b",
        r"\b(?:chat|conversation|session)\b.{0,20}\btitles?\b|简[要短]的?[主标]题",
        rf"\bgenerate\b.{{0,40}}\btitles?\b.{{0,60}}\b{_ABOUT}\b",
        rf"\btags?\b.{{0,100}}\b{_ABOUT}\b",
        r"\bfollow[- ]?ups?\b.{0,30}\b(?:questions?|prompts?|suggestions?|replies|messages)\b",
        rf"\b(?:suggest|propose|predict)\b.{{0,60}}\b(?:questions?|prompts?|replies|messages)\b.{{0,80}}\b(?:user|{_ABOUT})\b",
        rf"\b(?:search|retrieval|web|lookup)\b.{{0,20}}\bquer(?:y|ies)\b.{{0,200}}\b{_ABOUT}\b",
        rf"\b{_ABOUT}\b.{{0,200}}\b(?:search|retrieval|web)\b.{{0,20}}\bquer(?:y|ies)\b",
        r"\b(?:rephrase|rewrite|condense)\b.{0,80}\bstandalone\b.{0,40}\b(?:question|query)\b",
        r"\bauto-?complet(?:e|ion)\b.{0,200}\b(?:text|typing|input|user)\b",
        rf"\bemoji\b.{{0,100}}\b(?:{_ABOUT}|expression|mood|speaker)\b",
        r"\b(?:summari[sz]e|condense|compress)\b.{0,60}\b(?:chat|conversation|dialog(?:ue)?|discussion)\b.{0,300}"
        r"\b(?:future context|memory|context window|current summary|new summary)\b",
        r"\bresponses?\b.{0,30}\bfrom (?:various|multiple|several|different)\b.{0,30}\bmodels\b",
        rf"\bprompt\b.{{0,40}}\bimage\b.{{0,200}}\b{_ABOUT}\b",
        r"(?:会话|對話|对话|聊天|会話|チャット|대화).{0,40}(?:标题|標題|标签|タイトル|題名|제목|主题|追问|关键词)",
        r"(?:标题|標題|标签|タイトル|題名|제목|主题|追问).{0,40}(?:会话|對話|对话|聊天|会話|チャット|대화)",
        r"\b(?:titel|titre|título|titolo|заголовок|название)\b.{0,80}(?:gespräch|unterhaltung|chat|konversation|conversa"
        r"|conversación|conversazione|discussion|бесед|разговор|диалог|чат)",
    )
)
# each says by itself that a program wrote the message
PROGRAM = tuple(
    re.compile(pattern, _FLAGS | re.MULTILINE)
    for pattern in (
        r"</?(?:chat_history|conversation|history|messages|dialog(?:ue)?|transcript|content|context|text|type)>",
        r"^[ \t|>#*\[\"{]*(?:user|human|assistant|ai|bot|system|用户|助手)[\]*\"]{0,3}[ \t]*[:：].{0,2000}"
        r"^[ \t|>#*\[\"{]*(?:user|human|assistant|ai|bot|title|用户|助手)[\]*\"]{0,3}[ \t]*[:：]",
        r"^[ \t#*]*(?:chat history|conversation|transcript|(?:chat )?messages|the conversation|here(?:'s| is) the"
        r" (?:chat|conversation))\b[* \t]*[:：]?[* \t]*$",
        r"^#{2,4} \**(?:task|guidelines|output|rules|instructions)\b",
        r"\bjson\b|\{ *\"(?:title|tags|follow_ups|queries|text|suggestions)\"",
        r"\"role\" *: *\"(?:user|assistant)\"",
        r"\byour task is to\b",
        r"^(?:message|responses from models)[ \t]*:[ \t]*(?:```)?",
    )
)
# how programs ask for an answer that they will read
BARE = tuple(
    re.compile(pattern, _FLAGS)
    for pattern in (
        r"\b(?:only|solely|just|exclusively|nothing else|nothing but)\b",
        r"\b(?:\d+|two|three|four|five|six|seven|eight|ten)\b.{0,12}\b(?:words?|characters?|chars|keywords)\b|字以内|个字|個字",
        r"\b(?:no|without|avoid|not use|not include|any|remove)\b.{0,40}\b(?:quotes?|quotation|punctuation|prefix"
        r"|explanations?|symbols|formatting|commentary|markdown|preamble)\b|不要.{0,12}标点|标点符号|引号",
        r"\bconcise\b|\bshort\b|\bbroad\b|\bbrief(?:ly)?\b",
    )
)
LASTING = re.compile(
    r"\b(?:after|at the end of|begin|start|open|end|close|finish|in|with|to)\b.{0,15}\b(?:each|every|all|your)\b.{0,15}"
    r"\b(?:answers?|repl(?:y|ies)|responses?|messages?)\b|\balways\b",
    _FLAGS,
)


def is_client_task(turns: Sequence[tuple[str, str]]) -> bool:
    """True where a client asks the model on its own account. ``turns`` are (role, text), oldest first.

    What a message asks for must stand at its beginning or its end and say two things of a program's form; or one, and
    the conversation be given with it: in the message, or as the turns before. A system message must begin with it, and
    not speak of every answer: then it is a lasting wish of the person.
    """
    *before, (_, last) = turns
    system = "\n".join(text for role, text in before if role == "system").strip()
    if system and _asked(system[: ENDS // 2]) and not LASTING.search(system[:ENDS]):
        form = f"{system[:LONGEST_SEARCH]}\n{last[:LONGEST_SEARCH]}"
        signs = _count(BARE, system[: 2 * ENDS]) + _count(PROGRAM, form)
        if signs >= 2 or (_asked(last[:ENDS]) and signs + _count(BARE, last[:ENDS]) >= 1):
            return True
    if not _asked(last[:ENDS]) and not _asked(last[-ENDS:]):
        return False
    ends = last if len(last) <= 2 * ENDS else f"{last[:ENDS]}\n{last[-ENDS:]}"
    marks = _count(PROGRAM, f"{last[:LONGEST_SEARCH]}\n{last[-ENDS:]}")
    answered = any(role == "assistant" for role, _ in before)
    bare = _count(BARE, ends)
    return marks >= 2 or (marks == 1 and bare >= 1) or (answered and bare >= 2)


def _asked(text: str) -> bool:
    return any(wanted.search(text) for wanted in WANTED)


def _count(patterns: Sequence[re.Pattern[str]], text: str) -> int:
    return sum(pattern.search(text) is not None for pattern in patterns)


async def pass_on(
    model: ChatModel, turns: Sequence[tuple[Role, str]], decoding: Decoding
) -> AsyncGenerator[Event, None]:
    """The model's own answer without its reasoning, in the events of a draft; nothing is retrieved or recorded.

    Raises ChatRefused for an empty answer, and what the model raises.
    """
    clock = Clock()
    draft = Draft(
        new_id("chatcmpl"), "", PASSED_ON, Retrieval(), Revision(False, "client_task", "A client's own task.")
    )
    yield Retrieved(draft.id, draft.retrieval)
    with clock.stage("generate_ms"):
        # whole, for a mark that ends the reasoning may be the first sign that there was any
        reply = await complete(model, [Message(role, text) for role, text in turns], replace(decoding, stop=()))
    text = without_reasoning(storable(reply.text))
    if not text.strip():
        raise ChatRefused(f"The model '{model.name}' answered nothing.")
    yield Delta(text)
    yield Finished(
        replace(draft, text=text, usage=reply.usage, finish_reason=reply.finish_reason, timings=clock.read())
    )
