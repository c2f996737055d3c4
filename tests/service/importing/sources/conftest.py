from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pearl.records import Document
from service.importing.sources.base import LeftOut, Options, Remark, SourceDocument, load_importer


@dataclass(frozen=True)
class Reading:
    """What an importer made of a source."""

    found: list[SourceDocument]
    left_out: list[LeftOut]
    remarks: list[str]
    options: Options

    @property
    def documents(self) -> list[Document]:
        return [found.document for found in self.found]

    @property
    def texts(self) -> list[str]:
        return [document.text for document in self.documents]

    @property
    def reasons(self) -> list[str]:
        return [item.reason for item in self.left_out]

    @property
    def errors(self) -> list[LeftOut]:
        return [item for item in self.left_out if item.error is not None]


@pytest.fixture
def read() -> Callable[..., Reading]:
    def read_source(
        kind: str, source: Path, *me: str, user: str | None = "ann", voice: str | None = None, **flags: bool
    ) -> Reading:
        advanced: list[int] = []
        importer = load_importer(kind)
        options = Options(user=user, me=me, voice=voice, advance=advanced.append, flags=frozenset(flags))
        size = importer.size(source)
        items = list(importer.read(source, options))
        assert size is None or sum(advanced) == size  # the bar ends at its end
        return Reading(
            [item for item in items if isinstance(item, SourceDocument)],
            [item for item in items if isinstance(item, LeftOut)],
            [item.text for item in items if isinstance(item, Remark)],
            options,
        )

    return read_source
