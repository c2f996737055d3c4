"""The part that all judges share: the command they name, the model, the kept replies, and asking what is missing."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from eval.asking.ask import Asked, Judge, Terms, check_complete, elicit, replies, survey
from eval.asking.cost import NO_PRICES, Prices, Purse, Survey
from eval.asking.kept import Question, Replies, open_replies
from eval.asking.patience import asking
from eval.asking.progress import watched
from eval.asking.verdict import Failed
from pearl import __version__
from pearl.chat.base import Decoding, Message, Reply
from pearl.chat.choose import make_chat_model
from pearl.errors import InputError
from pearl.settings import Settings, load_settings


@dataclass(frozen=True, slots=True)
class Asking:
    """The options of a run."""

    llm: str | None
    in_flight: int
    replies: Path | None
    replay: bool
    temperature: float
    max_tokens: int
    prices: Prices = NO_PRICES
    cap: float | None = None

    def check(self) -> None:
        """Raises InputError for a cap without prices."""
        Purse(self.prices, self.cap)


@dataclass(frozen=True, slots=True)
class Round:
    """The questions and the outcome of asking them; ``replies`` iterates over the replies anew each time."""

    survey: Survey
    asked: Asked
    replies: Callable[[], Iterator[Reply | Failed]]

    def to_json(self) -> dict[str, Any]:
        return {"questions": self.survey.questions, "kept_before": self.survey.kept} | self.asked.to_json()


class Bench:
    """A judge and its kept replies; open it with :func:`bench`."""

    def __init__(self, asking: Asking, judge: Judge, kept: Replies, console: Console, runner: asyncio.Runner) -> None:
        self.judge = judge
        self._asking = asking
        self._kept = kept
        self._console = console
        self._runner = runner

    def estimate(self, questions: Iterable[Question]) -> dict[str, Any]:
        """The highest number of calls, tokens and money that asking would take."""
        return {"estimate": survey(self.judge, questions, self._kept).to_json(self._asking.prices)}

    def after(self, before: Round, decoding: Decoding) -> Bench:
        """The same judge, asked otherwise, for what is left below the cap."""
        cap = self._asking.cap
        left = None if cap is None else max(cap - (before.asked.cost or 0.0), 0.0)
        judge = replace(self.judge, decoding=decoding)
        return Bench(replace(self._asking, cap=left), judge, self._kept, self._console, self._runner)

    def ask(self, label: str, questions: Iterable[Question]) -> Round:
        """Ask every question without a kept reply. Raises InputError for one in a replay."""
        found = survey(self.judge, questions, self._kept)
        if self._asking.replay:
            check_complete(found)
        asked = Asked()
        if found.missing:
            with watched(self._console) as watch:
                terms = Terms(self._asking.in_flight, self._asking.prices, self._asking.cap)
                asked = self._runner.run(elicit(self.judge, questions, self._kept, terms, watch(label, found.missing)))
        return Round(found, asked, partial(replies, self.judge, questions, self._kept, asked))


def described(name: str, **options: object) -> dict[str, Any]:
    """The command that makes a result, without its output files, and our version. True is a flag, a tuple several
    words, a list an option for each; None and False are left out."""
    words = ["pearl", "judge", name]
    given = [(option, each) for option, value in options.items() for each in _each(value)]
    for option, value in given:
        if value is None or value is False:
            continue
        words.append(f"--{option.replace('_', '-')}")
        values = value if isinstance(value, tuple) else () if value is True else (value,)
        words += [f"{each:g}" if isinstance(each, float) else str(each) for each in values]
    return {"command": shlex.join(words), "version": __version__}


def _each(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


@contextmanager
def bench(options: Asking, console: Console) -> Iterator[Bench]:
    """Raises InputError for settings and files that cannot be used. A replay needs no model."""
    options.check()
    # a failed call is repeated by eval.asking.patience, for all calls together
    settings = load_settings(llm=options.llm, llm_max_retries=0)
    decoding = Decoding(options.max_tokens, options.temperature)
    name, identity = names_of(settings)
    model = None if options.replay else make_chat_model(settings, in_flight=options.in_flight)
    judge = Judge(asking(model) if model else _unasked, identity, decoding, model.count_tokens if model else len, name)
    with asyncio.Runner() as runner, open_replies(options.replies or settings.home / "judge-replies.sqlite") as kept:
        try:
            yield Bench(options, judge, kept, console, runner)
        finally:
            if model:
                runner.run(model.close())


def names_of(settings: Settings) -> tuple[str, str]:
    """The model's name, and what its replies depend on: the model, and our rules if it is the embedded one."""
    if not settings.uses_endpoint:
        from pearl.chat.embedded import EmbeddedChatModel

        return EmbeddedChatModel.name, EmbeddedChatModel.identity
    if not settings.llm_model:
        raise InputError("PEARL_LLM_MODEL is not set: name the endpoint's model.", code="invalid_setting")
    return settings.llm_model, settings.llm_model


def families_of(path: Path | None) -> dict[str, str]:
    """The families of models by name, from a file of abilities as `pearl eval style` reads it. Raises InputError."""
    if path is None:
        return {}
    from eval.recorded.style.ability import read_abilities

    return {name: each.family for name, each in read_abilities(path).items() if each.family}


async def _unasked(messages: Iterable[Message], decoding: Decoding) -> Reply:
    raise AssertionError("a replay asks nothing")
