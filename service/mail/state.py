"""The state of a watched account, in a file: how far its sent mail was read, and which messages have a draft.

The watch may be killed at any moment, and nothing is lost or done twice: sent mails are recognized by their
Message-IDs, and drafts have Message-IDs made from the answered messages' ids.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pearl.cli.options import writing
from pearl.errors import InputError
from pearl.text.files.whole import opened


@dataclass(slots=True)
class ReadTo:
    """The point up to which a mail folder was read."""

    validity: int
    uid: int  # the last one read
    newest: float  # when the latest of the mails read was received; with another validity reading goes on there


@dataclass(slots=True)
class Answer:
    """The draft for a message that waits for an answer, and how far this draft got."""

    draft: str | None = None  # its id in the store
    laid: bool = False  # it is in Drafts, or there is nothing to lay there
    sent: str | None = None  # the Message-ID of the mail that became feedback on it


@dataclass(slots=True)
class State:
    """The state of a mail account for one user of one database. For another user or database it starts empty."""

    path: Path
    owner: str
    folders: dict[str, ReadTo] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)  # by a digest of the message

    @classmethod
    def load(cls, path: Path, owner: str) -> State:
        """Read the state from its file, or start with an empty one. Raises InputError for a damaged file."""
        state = cls(path, owner)
        with writing(str(path)):
            content = path.read_bytes() if path.exists() else b"{}"
        try:
            kept = json.loads(content)
            if kept.get("owner") == owner:
                state.folders = {name: ReadTo(**values) for name, values in kept["folders"].items()}
                state.answers = {key: Answer(**values) for key, values in kept["answers"].items()}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(
                f"{path}: is damaged; delete it. The sent mail is read again, and nothing comes twice."
            ) from error
        state.save()
        return state

    def save(self) -> None:
        """Write the file atomically. Raises InputError if it cannot be written."""
        values = asdict(self)
        del values["path"]
        with writing(str(self.path)), opened(self.path, private=True) as file:
            file.write(json.dumps(values, indent=1).encode())
