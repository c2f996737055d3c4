"""The prompt of the editor, three steps in one question: find weak spans, rewrite each, and give the edited text.

The categories are those of papers/writing-quality-rewards.txt (LAMP); the words are ours.
"""

from __future__ import annotations

from pearl.errors import ContextExceeded
from pearl.models.chat.base import ChatModel, Decoding, Message
from pearl.models.prompts import MESSAGE_OVERHEAD, fenced
from pearl.style.editing.edits import SpanEdit, execute

CATEGORIES = {
    "Cliche": "a phrase that everybody uses, without anything of this text in it",
    "Poor Sentence Structure": "a sentence that runs on, stumbles, or repeats the shape of the one before it",
    "Unnecessary Exposition": "an explanation of what the reader already sees, or the same thing said twice",
    "Lack of Specificity and Detail": "a general word where the draft knows the particular one",
    "Awkward Word Choice and Phrasing": "a word that is not quite the right one, or a phrase nobody would say",
    "Purple Prose": "ornament that draws attention to itself",
    "Tense Inconsistency": "a tense that changes without a reason",
    "Punctuation": "a mark that is missing, doubled or wrong",
}
SYSTEM = "You are an editor with a light hand. You improve how a text is written and leave alone what it says."
TASK = """Find the spans of the draft that weaken it, and rewrite each of them. Everything else stays as it is.

Categories of weak spans:
{categories}

Copy a span letter by letter from the draft, long enough that it occurs only once. Spans do not overlap. A rewrite adds
no facts, keeps the writer's tone, and may be empty to delete the span. A few good edits are better than many.{standing}

Answer in three parts, in exactly this form:

Part 1: Spans
Span 1: `words of the draft` (Category: `one of the categories`)
Span 2: `other words of the draft` (Category: `one of the categories`)

Part 2: Rewrites
Span 1: `words of the draft` -> `better words`
Span 2: `other words of the draft` -> `better words`

Part 3: Edited draft
the whole draft with the rewrites in place
"""
DRAFT = "\nThe draft:\n<draft>\n{draft}\n</draft>"
EXAMPLE = (
    "The visit went well and it was a good visit. At the end of the day, we decided to open on Friday. Otti paints."
)
EXAMPLE_EDITS = (
    SpanEdit(" and it was a good visit", "", "Unnecessary Exposition"),
    SpanEdit("At the end of the day, we decided to open on Friday", "We open on Friday", "Cliche"),
)
INSTRUCTIONS = "\n\nThe writer's standing instructions hold for every rewrite:\n"
FIRST, SECOND, THIRD = "Part 1: Spans", "Part 2: Rewrites", "Part 3: Edited draft"
TEMPERATURE = 0.7
ROOM, LONGEST = 256, 2048  # tokens of a reply, on top of thrice the draft's and in all

Messages = tuple[Message, ...]


def editor_prompt(draft: str, instructions: str = "", *, example: bool = False) -> Messages:
    """Build messages that ask for edits of the draft; with ``example``, an example question and answer come first."""
    categories = "\n".join(f"- {name}: {about}" for name, about in CATEGORIES.items())
    standing = INSTRUCTIONS + instructions.strip() if instructions.strip() else ""
    task, question = TASK.format(categories=categories, standing=standing), DRAFT.format(draft=fenced(draft))
    turns: Messages = (Message("user", task + question),)
    if example:
        answered = Message("assistant", reply_of(EXAMPLE_EDITS, execute(EXAMPLE, EXAMPLE_EDITS).text))
        turns = (Message("user", task + DRAFT.format(draft=EXAMPLE)), answered, Message("user", question.strip()))
    return (Message("system", SYSTEM), *turns)


def prompt_for(model: ChatModel, draft: str, instructions: str = "") -> tuple[Messages, Decoding]:
    """Return the messages for this model, and a decoding that stops before the edited text: PEARL executes the edits.

    Raises ContextExceeded where the draft and its edits do not fit the model.
    """
    messages = editor_prompt(draft, instructions, example=True)
    longest = min(LONGEST, 3 * model.count_tokens(draft) + ROOM)
    size = sum(model.count_tokens(message.content) + MESSAGE_OVERHEAD for message in messages)
    if size + longest > model.context_tokens:
        raise ContextExceeded(
            f"The draft is too long to edit: with its edits it takes {size + longest:,} tokens, and the context of the "
            f"model holds {model.context_tokens:,}.",
            param="draft",
        )
    return messages, Decoding(longest, temperature=TEMPERATURE, stop=(f"\n{THIRD[:6]}",))


def reply_of(edits: tuple[SpanEdit, ...], edited: str) -> str:
    """Write an editor's reply that proposes these edits, in the form in which a model is trained to answer."""
    spans = "\n".join(
        f"Span {number}: `{edit.span}` (Category: `{edit.category}`)" for number, edit in enumerate(edits, start=1)
    )
    rewrites = "\n".join(
        f"Span {number}: `{edit.span}` -> `{edit.rewrite}`" for number, edit in enumerate(edits, start=1)
    )
    return f"{FIRST}\n{spans}\n\n{SECOND}\n{rewrites}\n\n{THIRD}\n{edited}"
