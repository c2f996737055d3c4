"""The protocol between a command and the server of its PEARL_HOME: a request (order), and answers as lines of JSON."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields, replace
from http.client import HTTPException

import orjson
from pydantic import TypeAdapter

from pearl import errors
from pearl.errors import PearlError
from pearl.records import Claim
from pearl.settings import Settings
from pearl.style.claims.claims import Sample
from service.drafting.drafter import DraftJob, Embedding, Event
from service.process.home_socket import NAME, HomeConnection, refusal, traits

PATH = "/command"
CONFLICT = 409  # the status if the server would not do the same as the command
STOPPING = "stopping"  # the code of the error of a server that ends
# of a job; the others are of conversations and studies, or made by the server
SENT = (
    *("request", "voice", "instructions", "k", "revise", "candidates", "variants", "decoding"),
    *("recipient", "thread", "length", "edges"),
)


@dataclass(frozen=True, slots=True)
class Order:
    """A command's request to the server: to write a draft, or to find the claims of a text."""

    user: str | None
    job: DraftJob
    text: str | None = None  # whose claims are wanted; None: a draft is
    samples: tuple[Sample, ...] = ()
    of_change: bool = False  # the draft is a commit's message: the one command whose job has a template
    traits: dict[str, str] = field(default_factory=dict)  # of the command (service.process.home_socket)

    def to_json(self) -> bytes:
        sent = {name: getattr(self.job, name) for name in SENT}
        more = {"job": sent, "of_change": self.job.template is not None}
        return orjson.dumps({each.name: getattr(self, each.name) for each in fields(self)} | more)


@dataclass(frozen=True, slots=True)
class Failed:
    """The last line of an answer that ended with an error."""

    kind: str  # the name of its class in pearl.errors, or of the nearest base there
    message: str
    param: str | None
    code: str
    retry_after: float | None

    @classmethod
    def of(cls, error: PearlError) -> Failed:
        kind = next(each.__name__ for each in type(error).__mro__ if each.__module__ == errors.__name__)
        return cls(kind, error.message, error.param, error.code, error.retry_after)

    def error(self) -> PearlError:
        if self.code == STOPPING:
            return ServerGone()
        values = asdict(self)
        made: PearlError = getattr(errors, values.pop("kind"))(**values)
        return made


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a request for claims: the claims found in the text."""

    claims: list[Claim]


Answer = Embedding | Event | Found


class ServerGone(PearlError):
    """The server of this PEARL_HOME ended, or stopped answering, before the end of its answer."""

    default_code = "server_gone"

    def __init__(self) -> None:
        super().__init__("The server of this home ended before the draft did; run the command again.")


def answers(settings: Settings, order: Order, say: Callable[[str], None]) -> Generator[Answer, None, None]:
    """Send a command's request to the server of this PEARL_HOME; yield its answers, or nothing if no server runs. If
    the server must not be used, ``say`` is called with the reason. Closing the generator stops the server's work.

    Raises ServerGone if the server ends before its answer does, and the PearlError that it answers.
    """
    path, line_of = settings.home / NAME, TypeAdapter[Answer | Failed](Answer | Failed)
    if (reason := refusal(path)) is not None:
        say(f"The server of this home is not used: {reason}.")
        return
    with closing(HomeConnection(path)) as connection:
        try:
            connection.connect()
        except OSError:  # no socket, or one that a killed server left
            return
        try:
            connection.request("POST", PATH, replace(order, traits=traits(settings)).to_json())
            response = connection.getresponse()
            if response.status == CONFLICT:
                say(f"The server of this home is not used: it has {response.read().decode()} otherwise than here.")
                return
            while line := response.readline():
                if not line.strip():
                    continue
                if isinstance(answer := line_of.validate_json(line), Failed):
                    raise answer.error()
                yield answer
        except (OSError, HTTPException, ValueError) as error:
            raise ServerGone from error
    raise ServerGone


def encode(answer: Answer | Failed) -> bytes:
    """Encode an answer as a line of JSON."""
    return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)
