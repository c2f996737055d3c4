"""Tasks that chat clients give a model by themselves: titles, tags, follow-ups, search queries, completions.

Such a task is about the conversation and not a text of the person, so it goes to the model unchanged, without the
history and without a record. It is recognized by what it asks for and by phrases that programs use. Only the client's
own words count: a system message, or the frame of a message, which is the part before the conversation in it. Mails
and quotes of other people stand behind the frame.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from pearl.clock import Clock
from pearl.errors import ChatRefused
from pearl.models.chat.base import ChatModel, Decoding, Message, Role, complete
from pearl.records import Draft, Retrieval, Revision
from pearl.text.answers.reasoning import without_reasoning
from pearl.text.usable import storable
from service.drafting.drafter import Delta, Event, Finished, Retrieved
from service.process.threads import in_reading_thread
from service.store.ids import new_id

FRAME = 8_000  # characters; the longest instructions of known clients have half as many
BEGINNING = 300  # characters of first sentences
SENTENCES = 2  # of a system message: many begin with who the model is
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
SPOKEN = (
    r"^[ \t|>#*\[\"{]*(?:user|human|assistant|ai|bot|system|用户|助手)[\]*\"]{0,3}[ \t]*[:：].{0,2000}"
    r"^[ \t|>#*\[\"{]*(?:user|human|assistant|ai|bot|title|用户|助手)[\]*\"]{0,3}[ \t]*[:：]"
)
# each says by itself that a program wrote the message
PROGRAM = tuple(
    re.compile(pattern, _FLAGS | re.MULTILINE)
    for pattern in (
        SPOKEN,
        r"</?(?:chat_history|conversation|history|messages|dialog(?:ue)?|transcript|content|context|text|type)>",
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


# of a person's letter or of a quote; no program begins so
LETTER = re.compile(
    r"(?:[>|\"'“„«`]|--|(?!(?:task|instructions?|prompt)\b)[^\W\d_]{1,20}[ \t]?[:：]|[^\W\d_]+,"
    r"|(?:could|can|would|will|may|hi|hey|hello|dear|good (?:morning|day|afternoon|evening)|greetings"
    r"|thanks|thank you|hallo|liebe[rs]?|moin"
    r"|guten (?:tag|morgen|abend)|sehr geehrte[rs]?|bonjour|salut|cher|chère|hola|querid[oa]|estimad[oa]|ciao|car[oa]"
    r")\b)",
    re.IGNORECASE,
)
HEADING = re.compile(r"(?:[ \t#*]*(?:task|instructions?|objective|system prompt|任务)[ \t*:：]*\n|\s+)*", re.IGNORECASE)
SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?=\s)|[。！？]|\n|\Z)")
# the line with which a message begins to give the conversation
OPENING = re.compile(
    r"[ \t]*(?:<[a-z_]{2,20}>|```|\[?[ \t]*\{[ \t]*\"(?:role|content)\""
    r"|[#*\[|]*(?:>[ \t]*)?(?:user|human|assistant|ai|bot|system|用户|助手)[\]*]{0,3}[ \t]*[:：]"
    r"|[#*]*[ \t]*(?:chat history|conversation|transcript|(?:chat )?messages?|the conversation|here(?:'s| is) the"
    r" (?:chat|conversation)|current summary|responses from models)[* \t]*(?:[:：]|$))",
    re.IGNORECASE,
)
PROSE = re.compile(r"(?!your task\b|[^\n]{0,60}:\s*$)[ \t]*[^\W\d_]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Frame:
    """The client's part of a message."""

    text: str
    marks: int  # patterns of PROGRAM that it matches
    opens: bool = False  # the conversation follows
    whole: bool = False  # it is the whole message

    @classmethod
    def of(cls, message: str) -> _Frame:
        """Read a message up to the line that opens the conversation, or to a paragraph of prose outside of a list."""
        offset, blank = 0, False
        for line in message[:FRAME].splitlines(keepends=True):
            if OPENING.match(line):
                text, spoken = message[: offset + len(line)], PROGRAM[0].search(message[offset : offset + FRAME])
                return cls(text, (_count(PROGRAM[1:], text) + (spoken is not None)) or 1, opens=True)
            if blank and PROSE.match(line):
                break
            blank = not line.strip()
            offset += len(line)
        text = message[:offset]
        return cls(text, _count(PROGRAM, text), whole=offset == len(message))

    def asks(self, sentences: int = 1) -> bool:
        """True if its first sentences, behind headings, ask for what clients ask for."""
        heading = HEADING.match(self.text)
        start = heading.end() if heading else 0
        if LETTER.match(self.text.lstrip()) or LETTER.match(self.text, start):
            return False
        beginning = self.text[start : start + BEGINNING]
        ends = [sentence.end() for sentence in islice(SENTENCE.finditer(beginning), sentences)]
        found = (wanted.search(self.text, start, start + 2 * BEGINNING) for wanted in WANTED)
        return any(match is not None and match.start() < start + max(ends, default=0) for match in found)


def is_client_task(turns: Sequence[tuple[str, str]]) -> bool:
    """True if the last turn is a task of the chat client's own, such as a title; ``turns``: (role, text), oldest first.

    A message must ask for the task in its first sentence, contain or follow a conversation, and have two signs of a
    program in its frame. A system message must begin with the task, and must not speak of every answer: that would be a
    lasting wish of the person.
    """
    *before, (_, last) = turns
    system = _Frame.of("\n".join(text for role, text in before if role == "system").strip())
    roles = [role for role, _ in before if role != "system"]
    frame = _Frame.of(last)
    asks = frame.asks()
    if system.asks(SENTENCES) and not LASTING.search(system.text[: 2 * BEGINNING]):
        signs = _count(BARE, system.text) + system.marks + int(OPENING.match(last) is not None)
        if signs >= 2 or (asks and signs + _count(BARE, frame.text) >= 1):
            return True
    # in a conversation that goes on, what a message gives is for the person
    given = frame.opens if not roles else frame.whole and roles[-1] == "assistant"
    if not (asks and given):
        return False
    marks, bare = frame.marks, _count(BARE, frame.text)
    return marks >= 2 or (marks == 1 and bare >= 1) or (bool(roles) and bare >= 2)


def _count(patterns: Sequence[re.Pattern[str]], text: str) -> int:
    return sum(pattern.search(text) is not None for pattern in patterns)


async def pass_on(
    model: ChatModel, turns: Sequence[tuple[Role, str]], decoding: Decoding
) -> AsyncGenerator[Event, None]:
    """Answer a client's task: yield the model's answer without its reasoning as events of a draft that is not recorded.

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
    text = await in_reading_thread(without_reasoning, storable(reply.text))
    if not text.strip():
        raise ChatRefused(f"The model '{model.name}' answered nothing.")
    yield Delta(text)
    yield Finished(
        replace(draft, text=text, usage=reply.usage, finish_reason=reply.finish_reason, timings=clock.read())
    )
