"""Prompts that fit the model's context: the request is never cut, documents are cut evenly, every text is fenced."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

from pearl.errors import ContextExceeded, InputError
from pearl.models.chat.base import ChatModel, Decoding, Message
from pearl.records import Document
from pearl.text.answers.marks import OPENING, unfenced
from pearl.text.answers.reasoning import without_reasoning
from pearl.text.fences import Marks
from pearl.text.language import detect, names, wanted_language
from pearl.text.templates import DEFAULT_TEMPLATE, Template, fill, frame, load_template
from pearl.text.words import characters, composed, is_question

SMALLEST_SHARE = 40  # tokens; less of a document shows nothing of its style
SMALLEST_IN_TIME = 100  # where the model reads slowly: rather a part of one document than crumbs of four
LONGEST_WORD = 60  # characters; what is longer is no word but a script without spaces, or code
LONGEST_SHOWN_REQUEST = 80  # tokens of the request a document answered
LEAST_WORDS = 5  # of a usual text; a script without spaces has fewer, and its words cannot be counted so
MESSAGE_OVERHEAD = 8  # tokens a chat format spends on one message, generously
MARKS = Marks(("document", "request", "draft"))
BEGUN = f"EDITED DRAFT\n{OPENING}\n"
# with its Markdown, and a mark that parts it from a text on the same line; what that text begins with is its own
EDITED = re.compile(r"^[^\w\n]*EDITED\s+DRAFT[ \t]*[*_#]*[ \t]*[:.–—-]?[*_#]*", re.IGNORECASE | re.MULTILINE)

# how documents are shown: as answered turns, with what a model is told of them, or quoted in one message; where there
# are none, the request alone
TURNS, TOLD_TURNS, QUOTED, REQUEST_ALONE = "turns", "told_turns", "quoted", "request_alone"

CountTokens = Callable[[str], int]
# of the number of tokens of a prompt that are read before the first word is due, by the messages that it begins with
InTime = Callable[[Sequence[Message]], int]


INTENTS = ("accept", "decline", "hedge", "ask", "inform")
TIMES_AS_LONG: dict[str | None, float] = {"shorter": 0.5, "longer": 2}  # as the documents usually are
LENGTHS = tuple(filter(None, TIMES_AS_LONG))
MOST_WORDS = 5_000  # that a length may ask for
WANTED_LINE = re.compile(
    rf"^[ \t]*(?:intent:[ \t]*(?P<intent>{'|'.join(INTENTS)})"
    rf"|length:[ \t]*(?P<length>{'|'.join(LENGTHS)}|[1-9]\d{{0,3}}))[ \t]*(?:\n|\Z)",
    re.MULTILINE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A past turn of a conversation: a request and its answer."""

    request: str | None  # None for an answer without a request
    text: str


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """The material of a prompt: request, documents, instructions, and what is known of writer and reader."""

    template: Template
    request: str
    documents: tuple[Document, ...] = ()  # best first
    instructions: str = ""
    prior: tuple[Exchange, ...] = ()  # earlier turns of a conversation, oldest first
    follow_up: str = ""  # the last part of the request, if the parts before it are in ``prior``
    language: str = ""  # to write in, in English, if the documents are not all in it
    length: str | int | None = None  # in place of the documents' usual one: one of LENGTHS, or words
    begun: str = ""  # what the text begins with by rule
    role: str = ""  # what the request is, by the name of its words in the frame; "" where that is not known
    writer: str = ""  # the author's name, where it is known
    addressee: str = ""  # whom the text is for, as the author addresses them
    in_time: InTime | None = None  # None: documents may take as long to read as they do


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages to a model, and the documents that they show."""

    messages: tuple[Message, ...]
    used: tuple[Document, ...]  # the documents in it, best first
    shortened: int  # how many of them were cut
    begun: str = ""  # the beginning of the answer, if the last message is that
    form: str | None = None  # how a first draft's documents are shown, such as TURNS
    for_time: bool = False  # documents were cut or left out for the time that reading takes, not for want of room


PromptBuilder = Callable[[PromptInputs, ChatModel, int], Prompt]  # the last is the most tokens of the answer


def instructed(instructions: str, intent: str | None = None, length: str | int | None = None) -> str:
    """Add sentences to the instructions: for the intent, one of INTENTS, and the length, one of LENGTHS or words."""
    parts = [instructions]
    if intent is not None:
        parts.append(frame()[f"intent_{intent}"])
    if isinstance(length, int):
        parts.append(fill(frame()["length_words"], words=str(length)))
    elif length is not None:
        parts.append(frame()[f"length_{length}"])
    return "\n".join(filter(None, parts))


def language_to_name(request: str, instructions: str, documents: Iterable[Document]) -> str:
    """Return the name of the wanted language if a document is in another language, otherwise an empty string."""
    wanted = wanted_language(request, instructions)
    if wanted is None or all(detect(document.text) in (None, wanted) for document in documents):
        return ""
    return names()[wanted]


def check_length(value: object, *, param: str) -> str | int:
    """Check the length wanted for a draft: one of LENGTHS, or a number of words. Raises InputError."""
    if isinstance(value, str) and value in LENGTHS:
        return value
    words = int(value) if isinstance(value, str) and value.isdecimal() else value
    if isinstance(words, int) and not isinstance(words, bool) and 1 <= words <= MOST_WORDS:
        return words
    wanted = f"{', '.join(LENGTHS)}, or a number of words from 1 to {MOST_WORDS:,}"
    raise InputError(f"The length is to be {wanted}.", param=param)


def instructed_by_lines(instructions: str) -> tuple[str, str | int | None]:
    """Read lines such as "intent: decline" and "length: 80" from a system message, for clients without such fields.
    Return the instructions, with a sentence in place of each such line, and the length."""
    intent: str | None = None
    length: str | int | None = None

    def take(line: re.Match[str]) -> str:
        nonlocal intent, length
        if line["intent"]:
            intent = line["intent"].lower()
        elif line["length"].isdecimal() and int(line["length"]) > MOST_WORDS:
            return line[0]
        else:
            length = check_length(line["length"].lower(), param="length")
        return ""

    rest = WANTED_LINE.sub(take, instructions).strip()
    return instructed(rest, intent, length), length


def draft_prompt(inputs: PromptInputs, model: ChatModel, max_tokens: int) -> Prompt:
    """Build the prompt of a first draft. Each document is shown as a request and its answer, the best one last.

    When room is short, the oldest turns of an earlier conversation are dropped, then documents are cut, all to the same
    length. The model is told that documents show manner, never facts (docs/experiments.md, "What a larger model is
    told"). Raises ContextExceeded when the request alone does not fit.
    """
    system = _system(inputs.template)
    task = Message("user", _asked(inputs, inputs.follow_up or inputs.request))
    begun = _begun(inputs, model)
    room = _room(inputs, (system, _in_language(inputs, task), *begun), model, max_tokens)
    prior = _latest_that_fit(inputs, room, model.count_tokens)
    if inputs.follow_up and not prior:  # what it follows up on must be said in the request
        whole = Message("user", _asked(inputs, inputs.request))
        added = _tokens((whole,), model.count_tokens) - _tokens((task,), model.count_tokens)
        if added <= room:
            task, room = whole, room - added
    room -= _tokens(prior, model.count_tokens)
    # in a conversation the earlier turns are the matter itself
    informed = (system, task) if prior else _told(inputs, task)
    room -= _tokens(informed, model.count_tokens) - _tokens((system, task), model.count_tokens)
    wanted = (informed[0], *prior, _in_language(inputs, informed[1]), *begun)
    in_time = _room_in_time(inputs, wanted, room, model)
    shown, shortened = _documents_that_fit(inputs, _answered_turn, in_time, room, model.count_tokens)
    form = REQUEST_ALONE
    if shown:
        (system, task), form = informed, TURNS if prior else TOLD_TURNS
    turns = [message for turn in reversed(shown) for message in turn]
    messages = (system, *turns, *prior, _in_language(inputs, task), *begun)
    return Prompt(messages, inputs.documents[: len(shown)], shortened, _mark(begun), form, in_time < room)


def second_prompt(inputs: PromptInputs, model: ChatModel, max_tokens: int) -> Prompt:
    """Build the prompt for another try after the model answered as an assistant: reworded, all in one message. Raises
    ContextExceeded."""
    slots = {"noun": inputs.template.noun, "length": _length(inputs), "task": _asked(inputs, inputs.request)}
    begun = _begun(inputs, model)

    def ask(documents: str) -> tuple[Message, ...]:
        words = fill(frame()["quoted"], documents=documents, **slots) if documents else fill(frame()["again"], **slots)
        return _system(inputs.template), _in_language(inputs, Message("user", _tidy(words))), *begun

    room = _room(inputs, ask("\n"), model, max_tokens)
    in_time = _room_in_time(inputs, ask("\n"), room, model)
    shown, shortened = _documents_that_fit(inputs, _quoted, in_time, room, model.count_tokens)
    quoted = "\n\n".join(message.content for turn in reversed(shown) for message in turn)
    used = inputs.documents[: len(shown)]
    form = QUOTED if shown else REQUEST_ALONE
    return Prompt(ask(quoted), used, shortened, _mark(begun), form, in_time < room)


def revision_prompt(inputs: PromptInputs, draft: str, model: ChatModel, max_tokens: int) -> Prompt:
    """Build the prompt that asks for an edited draft (papers/pearl.txt, section C.4). Raises ContextExceeded.

    For a model that continues a begun answer, the prompt already holds the answer's line EDITED DRAFT.
    """
    begun = BEGUN if model.continues else ""

    def ask(documents: str) -> tuple[Message, ...]:
        slots = {
            "noun": inputs.template.noun,
            "documents": documents,
            "request": fenced(inputs.request),
            "draft": fenced(draft),
            "instructions": _instructions(inputs.instructions),
        }
        messages = (
            _system(inputs.template),
            _in_language(inputs, Message("user", _tidy(fill(frame()["revise"], **slots)))),
        )
        return (*messages, Message("assistant", begun)) if begun else messages

    room = _room(inputs, ask(""), model, max_tokens)
    in_time = _room_in_time(inputs, ask(""), room, model)
    shown, shortened = _documents_that_fit(inputs, _quoted, in_time, room, model.count_tokens)
    quoted = "\n\n".join(message.content for turn in shown for message in turn)
    return Prompt(ask(quoted), inputs.documents[: len(shown)], shortened, begun)


def revision_decoding(decoding: Decoding) -> Decoding:
    """Return the decoding of a revision: more tokens than a draft, since the model first lists what is missing."""
    return replace(decoding, max_tokens=decoding.max_tokens * 3 // 2)


def questions_prompt(inputs: PromptInputs) -> Prompt:
    """Build the prompt that asks the model what the user must still say."""
    return Prompt(
        (_system(inputs.template), Message("user", fill(frame()["questions"], request=fenced(inputs.request)))), (), 0
    )


def fenced(text: str) -> str:
    """Prepare a text for a fenced block in a prompt: break marks that would end the fence, and normalize line ends and
    letters (NFC)."""
    return MARKS.broken(composed(text.strip().replace("\r\n", "\n")))


def edited_draft(answer: str) -> str | None:
    """Return the text below the line EDITED DRAFT; None if there is no such line, or nothing below it. ``answer``:
    includes the beginning that the prompt already gave."""
    answer = without_reasoning(answer)
    marked = EDITED.search(answer)
    return (unfenced(answer[marked.end() :]) or None) if marked else None


def listed_questions(answer: str) -> tuple[str, ...]:
    """Return at most three questions from an answer that lists questions; reasoning before the list is ignored."""
    lines = (line.strip() for line in without_reasoning(answer).splitlines())
    questions = (re.sub(r"^(?:[-*•]|\d+[.)、．）])\s*", "", line) for line in lines if is_question(line))
    return tuple(dict.fromkeys(question for question in questions if re.search(r"\w", question)))[:3]


def _system(template: Template) -> Message:
    return Message("system", fill(frame()["system"], noun=template.noun, guidance=template.guidance))


def first_message(template: Template) -> Message:
    """Return the system message of a prompt that shows documents."""
    return Message("system", f"{_system(template).content} {fill(frame()['manner'], noun=template.noun)}")


def usual_beginning() -> list[Message]:
    """Return how the prompt of most drafts begins: by reading it, a model shows its speed."""
    return [first_message(load_template(DEFAULT_TEMPLATE))]


def _told(inputs: PromptInputs, task: Message) -> tuple[Message, Message]:
    """The system message and the task, with sentences added about the documents and their usual length."""
    matter = f"{frame()['matter']} {_length(inputs)}".strip()
    return first_message(inputs.template), replace(task, content=f"{task.content}\n{matter}")


def _begun(inputs: PromptInputs, model: ChatModel) -> tuple[Message, ...]:
    """The answer's beginning as a last message, if the text has one by rule and the model can continue it."""
    if not (inputs.begun and model.continues):
        return ()
    return (Message("assistant", f"{OPENING}\n{inputs.begun}"),)


def _mark(begun: tuple[Message, ...]) -> str:
    """The mark that stands before the text of an answer that was begun."""
    return f"{OPENING}\n" if begun else ""


def _in_language(inputs: PromptInputs, task: Message) -> Message:
    """The last message, with the language if it must be named, and what the text begins with if it has one by rule."""
    slots = {"noun": inputs.template.noun, "language": inputs.language, "begun": inputs.begun}
    named = [name for name in ("language", "begun") if slots[name]]
    return replace(task, content="\n".join([task.content, *(fill(frame()[name], **slots) for name in named)]))


def _length(inputs: PromptInputs) -> str:
    usual = median(len(document.text.split()) for document in inputs.documents) if inputs.documents else 0
    if isinstance(inputs.length, int):
        return fill(frame()["length_words"], words=str(inputs.length))
    if usual < LEAST_WORDS:
        return "" if inputs.length is None else frame()[f"length_{inputs.length}"]
    words = str(10 * max(1, round(usual * TIMES_AS_LONG.get(inputs.length, 1) / 10)))
    return fill(frame()["length" if inputs.length is None else "length_words"], words=words)


def _asked(inputs: PromptInputs, request: str) -> str:
    """The request with its task, which says who writes to whom if the request's role is known."""
    template = inputs.template
    if inputs.role:
        to = f" to {inputs.addressee}" if inputs.addressee else ""
        words = fill(frame()[inputs.role], writer=inputs.writer or "the author", noun=template.noun, to=to)
        template = replace(template, task=words)
    return _task(template, request, inputs.instructions)


def _task(template: Template, request: str | None, instructions: str = "") -> str:
    if request is None:
        return fill(frame()["task_without_request"], noun=template.noun)
    slots = {"task": template.task, "request": fenced(request), "instructions": _instructions(instructions)}
    return _tidy(fill(frame()["task"], **slots))


def _instructions(instructions: str) -> str:
    return fill(frame()["instructions"], instructions=instructions.strip()) if instructions.strip() else ""


def _tidy(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", text).strip()


Turn = tuple[Message, ...]


def _answered_turn(inputs: PromptInputs, request: str | None, text: str) -> Turn:
    return (
        Message("user", _task(inputs.template, request)),
        Message("assistant", fill(frame()["answer"], text=fenced(text))),
    )


def _quoted(inputs: PromptInputs, request: str | None, text: str) -> Turn:
    return (Message("user", fill(frame()["answer"], text=fenced(text))),)


def _room(inputs: PromptInputs, messages: Sequence[Message], model: ChatModel, max_tokens: int) -> int:
    room = model.context_tokens - max_tokens - _tokens(messages, model.count_tokens)
    if room < 0:
        param, what = "request", "The request is too long for the model: shorten it"
        if len(inputs.instructions) > len(inputs.request):
            param = "instructions"
            what = "The instructions, a voice's included, are too long for the model: shorten them"
        raise ContextExceeded(
            f"{what} by about {-room} tokens (its context holds {model.context_tokens}, of which {max_tokens} are kept "
            "for the draft).",
            param=param,
        )
    return room


def _room_in_time(inputs: PromptInputs, messages: Sequence[Message], room: int, model: ChatModel) -> int:
    """The tokens that documents may fill beside these messages, so that the first word comes in time; 0 if the messages
    alone take longer."""
    if inputs.in_time is None or not inputs.documents:
        return room
    left = inputs.in_time(messages[:1]) - _tokens(messages, model.count_tokens)
    return max(0, min(room, left))


def _tokens(messages: Sequence[Message], count: CountTokens) -> int:
    return sum(count(message.content) + MESSAGE_OVERHEAD for message in messages)


def _latest_that_fit(inputs: PromptInputs, room: int, count: CountTokens) -> tuple[Message, ...]:
    """The latest prior turns, as messages: the last turn if it fits, and earlier turns up to half of the room."""
    turns: tuple[Message, ...] = ()
    used = 0
    for exchange in reversed(inputs.prior):
        turn = _answered_turn(inputs, exchange.request, exchange.text)
        used += _tokens(turn, count)
        if used > (room // 2 if turns else room):
            break
        turns = (*turn, *turns)
    return turns


def _documents_that_fit(
    inputs: PromptInputs,
    show: Callable[[PromptInputs, str | None, str], Turn],
    in_time: int,
    room: int,
    count: CountTokens,
) -> tuple[list[Turn], int]:
    """The best documents, as many as can have a useful number of tokens each, and how many of them were cut. The best
    document is shown even if there is no time to read it."""
    smallest = SMALLEST_IN_TIME if in_time < room else SMALLEST_SHARE
    requests = [_shown_request(document, count) for document in inputs.documents]

    def turn(position: int, text: str) -> Turn:
        return show(inputs, requests[position], text)

    def size(position: int, text: str) -> int:
        return _tokens(turn(position, text), count)

    sizes = [size(position, document.text) for position, document in enumerate(inputs.documents)]
    useful = [min(whole, size(position, "") + smallest) for position, whole in enumerate(sizes)]
    in_time = min(room, max([in_time, *useful[:1]]))
    used = len(sizes)
    while any(share < least for share, least in zip(fair_shares(sizes[:used], in_time), useful, strict=False)):
        used -= 1
    shown, shortened = [], 0
    for position, share in enumerate(fair_shares(sizes[:used], in_time)):
        text = inputs.documents[position].text
        if share < sizes[position]:
            text = cut(text, share, partial(size, position))
            shortened += 1
        shown.append(turn(position, text))
    return shown, shortened


def _shown_request(document: Document, count: CountTokens) -> str | None:
    return None if document.request is None else cut(document.request, LONGEST_SHOWN_REQUEST, count)


def fair_shares(sizes: Sequence[int], room: int) -> list[int]:
    """Divide ``room`` among the sizes: small sizes are met in full, the others get equal shares of the rest."""
    shares = [0] * len(sizes)
    left = len(sizes)
    for position in sorted(range(len(sizes)), key=sizes.__getitem__):
        shares[position] = min(sizes[position], room // left)
        room -= shares[position]
        left -= 1
    return shares


def cut(text: str, tokens: int, count: CountTokens) -> str:
    """Cut a text to a number of tokens, at the end of a word, and add an ellipsis. A long run without spaces, as in
    Japanese, may be cut after any visible character."""
    if count(text) <= tokens:
        return text
    ends = [
        end
        for run in re.finditer(r"\S+", text)
        for _, end in (characters(text, *run.span()) if len(run[0]) > LONGEST_WORD else (run.span(),))
    ]
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[: ends[middle - 1]] + " …") <= tokens:
            low = middle
        else:
            high = middle - 1
    return text[: ends[low - 1]] + " …" if low else "…"
