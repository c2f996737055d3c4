"""What the tests of calibrating share: a person half of whose requests a history serves, and an endpoint that reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from pearl.records import Document

LACKING = "There is not much to say."
OPENING = "Hello all, this is the weekly note about"
SUBJECTS = (
    *("volcano magma crater", "violin sonata rehearsal", "penguin colony iceberg", "tax receipt deadline"),
    *("sourdough starter flour", "goalkeeper penalty stadium", "enzyme protein folding", "cathedral organ pipes"),
    *("compiler stack overflow", "vineyard harvest barrels", "dentist crown invoice", "telescope comet orbit"),
    *("kindergarten puppet theatre", "glacier rope crampons", "mortgage interest clause", "beehive queen swarm"),
    *("tractor gearbox oil", "ballet shoes audition", "museum bronze helmet", "saxophone reed valve"),
    *("chess endgame rook", "laundry detergent stain"),
)
CLOSING = "so please read it before the meeting, and tell me what you think of it, thank you all very much."


def known(number: int) -> Document:
    """A text whose subject others of the history have too: the draft from them is right as it is."""
    subject = f"the ferry timetable of the pier: boats leave at {number} past ten"
    return Document(f"known{number}", f"{OPENING} {subject}, {CLOSING}", 1000.0 + 2 * number, f"Write about {subject}.")


def fresh(number: int) -> Document:
    """A text of a subject that the history does not have: the draft lacks the request's facts."""
    words = SUBJECTS[number]
    return Document(f"fresh{number}", f"{OPENING} {words}, {CLOSING}", 1001.0 + 2 * number, f"{words}?")


def history(pairs: int = len(SUBJECTS)) -> list[Document]:
    """Texts that the history serves and texts that it does not, in turns."""
    return [make(number) for number in range(pairs) for make in (known, fresh)]


@dataclass
class Reader:
    """Answers as a model would that drafts from samples alone, and, where it ``helps``, brings in the request's facts
    when it revises a draft that lacks them; else it throws the draft away."""

    helps: bool = True
    revised: list[str] = field(default_factory=list)

    def __call__(self, body: dict[str, Any]) -> str:
        asked = body["messages"][-1]["content"]
        text = "\n".join(message["content"] for message in body["messages"])
        request = next((each for each in history() if (each.request or "") in asked), Document("other", "A text."))
        wrote = request.text if request.id.startswith("known") else LACKING
        if "EDITED DRAFT" not in text:
            return f"<document>\n{wrote}\n</document>"
        self.revised.append(request.id)
        better = request.text if self.helps and request.id.startswith("fresh") else "I would rather not say it."
        return f"- the facts\n\nEDITED DRAFT\n<document>\n{better}\n</document>"


@pytest.fixture
def reader() -> type[Reader]:
    return Reader


@pytest.fixture
def past() -> Callable[..., list[Document]]:
    return history
