"""History files: JSON Lines, plain or gzipped, of one user or many."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pearl.errors import InputError
from pearl.text.history.files import parse_document, read_json_lines
from pearl.text.usable import check_id
from service.importing.sources.base import (
    NOT_MINE,
    SHOWN,
    Importer,
    Item,
    Items,
    LeftOut,
    Options,
    Remark,
    SourceDocument,
    read_each,
)


class JsonlImporter(Importer):
    name = "jsonl"
    summary = "A history file: JSON Lines, plain or gzipped."
    examples = (
        "pearl import jsonl history.jsonl.gz",
        "pearl import jsonl notes.jsonl --user ann --voice notes",
        "pearl import jsonl everyone.jsonl --me ann --strict",
    )
    needs_user = False
    template = "free"

    def size(self, source: Path) -> int | None:
        return source.stat().st_size

    def read(self, source: Path, options: Options) -> Items:
        """Yield the documents of a history file. The options' ``user`` and ``voice`` apply to lines that name none; if
        ``me`` is given, only lines of these users are imported."""
        others: Counter[str] = Counter()
        placed = ((f"{source}:{line.number}", line.value) for line in read_json_lines(source, options.advance))
        for item in read_each(placed, partial(_document, options)):
            if isinstance(item, SourceDocument):
                others[item.user] += options.user is not None and item.user != options.user
            yield item
        if named := [f"{user} ({count:,})" for user, count in others.most_common(SHOWN) if count]:
            yield Remark(f"Its lines name other users than {options.user}, and went to them: {', '.join(named)}.")


def _document(options: Options, value: dict[str, Any], where: str) -> Item:
    user = value.get("user_id")
    if user is None:
        user = options.user
    if user is None:
        raise InputError(
            "'user_id' is missing; add it, or say whose history this is with --user.",
            param="user_id",
            code="missing_field",
        )
    document = parse_document(value)
    if document.voice is None:
        document = replace(document, voice=options.voice)
    user = check_id(user, param="user_id")
    if options.identities and not options.identities.match(user):
        return LeftOut(where, NOT_MINE)
    return SourceDocument(user, document, where)
