from __future__ import annotations

import re
from pathlib import Path

import pytest

from pearl import errors
from pearl.errors import ChatError, ChatRateLimited, InputError, NotFound, PearlError, StoreError


def tree() -> dict[str, type[PearlError]]:
    found = {"PearlError": PearlError}
    waiting: list[type[PearlError]] = [PearlError]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            if kind.__module__ == "pearl.errors":
                found[kind.__name__] = kind
                waiting.append(kind)
    return found


def test_the_docstring_draws_the_whole_tree():
    drawn: dict[str, tuple[str, str]] = {}
    path: list[str] = []
    for indent, name, text in re.findall(r"^    ([│├└─ ]*)([A-Z]\w+)(.*)$", errors.__doc__ or "", re.MULTILINE):
        depth = len(indent) // 4
        path[depth:] = [name]
        drawn[name] = (path[depth - 1] if depth else "PearlError", text)
    kinds = tree()
    assert set(drawn) == set(kinds)
    for name, (parent, text) in drawn.items():
        kind = kinds[name]
        assert kind is PearlError or kind.__base__ is kinds[parent]
        if status := re.search(r"HTTP (\d+)", text):
            assert kind.http_status == int(status[1]), name
        if status := re.search(r"exit status (\d+)", text):
            assert kind.exit_status == int(status[1]), name


def test_codes_are_all_different():
    kinds = tree().values()
    assert len({kind.default_code for kind in kinds}) == len(kinds)


def test_the_documentation_has_every_code_of_a_chat_error():
    used = {kind.default_code for kind in tree().values() if issubclass(kind, ChatError)}
    pearl = Path(errors.__file__).parent
    for path in (pearl / "models" / "chat").glob("*.py"):
        raised = re.findall(r'\bChat\w+\(\s*(?:f?"[^"]*"\s*)+,\s*code="(\w+)"', path.read_text(encoding="utf-8"))
        used |= set(raised)
    rows = [
        line.split("|")[1]
        for line in (pearl.parent / "docs/drafting.md").read_text("utf-8").splitlines()
        if "| `llm_" in line
    ]
    assert set(re.findall(r"`(\w+)`", "".join(rows))) == used


def test_what_an_error_carries():
    error = NotFound("There is no such thing.", param="id")
    assert str(error) == error.message == "There is no such thing."
    assert (error.param, error.code) == ("id", "not_found")
    assert NotFound("", code="voice_not_found").code == "voice_not_found"
    assert ChatRateLimited("Wait.", retry_after=2.5).retry_after == 2.5


@pytest.mark.parametrize(("kind", "status"), [(PearlError, 1), (StoreError, 1), (InputError, 2), (NotFound, 2)])
def test_exit_statuses(kind, status):
    assert kind.exit_status == status
