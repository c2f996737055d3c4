"""Files of annotated pairs: AnnotatedPairs JSON of versions 1 and 2, PEARL's JSON Lines, and the CSV of Inverse
Constitutional AI.

The ending gives the format: ``.json``, ``.jsonl`` or ``.csv``, each followed by ``.gz`` if it is compressed. JSON Lines
hold the same objects in less space: the first line is the file's object without its pairs, then one pair per line. A
file on the hub of Hugging Face is ``hf://datasets/OWNER/NAME/FILE``, with ``@REVISION`` behind NAME.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from eval.asking.json_lines import check_object
from eval.recorded.forensics.csv_pairs import csv_members
from eval.recorded.forensics.pairs import (
    HUMAN,
    KEYS,
    AnnotatedPairs,
    Annotator,
    Pair,
    Vote,
    annotation_of,
    checked_annotators,
    checked_pair,
    coin,
    pair_id,
    short_id,
)
from pearl.cli.options import writing
from pearl.errors import InputError
from pearl.text.files.json_stream import JsonStream
from pearl.text.files.whole import opened
from pearl.text.history.files import decompressed, located, parse_numbered_lines, reading
from pearl.text.usable import json_type

PAIRS, ANNOTATORS, METADATA = "comparisons", "annotators", "metadata"
VERSION = "2.0"
MOST_CHARACTERS = 1_000_000_000  # of the texts of a data set that is held in memory as a whole
KINDS = (".json", ".jsonl", ".csv")
# a path of the command line has one of the two slashes left
_HUB = re.compile(r"hf:/{1,2}datasets/(?P<name>[^/@]+/[^/@]+)(?:@(?P<revision>[^/]+))?/(?P<file>.+)")

Member = tuple[int, str, Any]  # line, name, value; a pair has the name PAIRS


def stream_pairs(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield each part of a file as its name and value: ``metadata``, ``annotators``, ``comparisons`` (one :class:`Pair`
    at a time) and unknown fields. Only the current part is in memory. Raises InputError that names file and line."""
    number = 0
    for line, name, value in _members(path):
        where = f"{path}:{line}"
        if name == PAIRS:
            number += 1
            where += f": pair {number}" + (f" ({value['id']})" if isinstance(value, dict) and "id" in value else "")
        with located(where):
            part = _checked(name, value)
        yield name, part
    if number == 0:
        raise InputError(f"{path}: there is no pair in it.")


def read_pairs(path: Path, most: int = MOST_CHARACTERS) -> AnnotatedPairs:
    """Read a whole data set. Raises InputError that names file, line and field, or if all texts have more than ``most``
    characters."""
    more: dict[str, Any] = {}
    pairs: list[Pair] = []
    size = 0
    for name, value in stream_pairs(path):
        if name == PAIRS:
            pairs.append(value)
            size += sum(map(len, value.texts)) + len(value.prompt or "")
            if size > most:
                raise InputError(
                    f"{path}: the texts have more than {most:,} characters, the most that is held in memory at once; "
                    "pearl forensics metrics and compare read files of any size."
                )
        else:
            more[name] = value
    annotators: Mapping[str, Annotator] = more.pop(ANNOTATORS, {})
    metadata = more.pop(METADATA, {})
    return AnnotatedPairs(annotators, tuple(pairs), metadata, more)


def write_pairs(path: Path, data: AnnotatedPairs) -> None:
    """Write a data set; the file's ending gives the format. Version 1 is written if the metadata say so. Raises
    InputError when the file cannot be written."""
    kind = kind_of(path, written=True)
    head = {METADATA: {"version": VERSION, **data.metadata}, **data.more}
    head[ANNOTATORS] = {annotator.id: annotator.fields for annotator in data.annotators.values()}
    first = _version(head[METADATA]).startswith("1")
    pairs: Iterator[Mapping[str, Any]] = (_first_version(pair) if first else pair.fields for pair in data.pairs)
    pieces = _json_lines(head, pairs) if kind == ".jsonl" else _document(head, pairs)
    with writing(f"--out {path}"), opened(path) as file:
        file.writelines(piece.encode("utf-8", "backslashreplace") for piece in pieces)  # half a pair as JSON has it


def kind_of(path: Path, *, written: bool = False) -> str:
    """The format of a file, by its ending. Raises InputError for an unknown ending, and for a CSV to be written."""
    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
    if not suffixes or suffixes[-1] not in KINDS:
        raise InputError(f"{path}: a file of pairs ends in {', '.join(KINDS)}, or one of these and .gz.")
    if written and suffixes[-1] == ".csv":
        raise InputError(f"{path}: a CSV has no place for annotated pairs; write .json or .jsonl.")
    return suffixes[-1]


def _checked(name: str, value: Any) -> Any:
    """Check a part of a file and convert it to records. Raises InputError with ``param`` set to the field."""
    if name == ANNOTATORS:
        return checked_annotators(value)
    if name == PAIRS:
        pair = check_object(value)
        return checked_pair(_second_version(pair) if "text_a" in pair else pair)
    if name == METADATA:
        _version(value)
        keys = value.get(KEYS)
        if keys is not None and not (isinstance(keys, list) and all(isinstance(key, str) for key in keys)):
            raise InputError("must be an array of names.", param=f"{METADATA}.{KEYS}")
    return value


def _members(path: Path) -> Iterator[Member]:
    """Yield the parts of a file of any format; a JSON file may also be an export of the service."""
    kind = kind_of(path)
    path = _local_file(path)
    if kind != ".json":
        return csv_members(path) if kind == ".csv" else _lines(path)
    members = _document_members(path)
    first = next(members, None)
    if first and first[1:] == MARK:
        return export_members(path, members)
    return chain([first] if first else [], members)


def _document_members(path: Path) -> Iterator[Member]:
    """Yield the members of a JSON document; the items of its long arrays are yielded one at a time."""
    with reading(path) as raw:
        stream = JsonStream(decompressed(raw), "strict", json.JSONDecoder(parse_constant=_refuse_constant))
        try:
            first = stream.peek()
            if first not in ("{", ""):
                raise InputError("must be one object with metadata, annotators and comparisons")
            for name, value in stream.members((PAIRS, *EXPORTED)) if first else ():
                yield stream.line, name, value
            if stream.peek():
                raise InputError("goes on after the object; is it JSON Lines? Name it .jsonl then")
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: is not UTF-8 ({error.reason}).") from error
        except InputError as error:
            raise InputError(f"{path}:{stream.line}: {error.message}.") from None
    if not first:
        raise InputError(f"{path}: is empty.")


def _refuse_constant(constant: str) -> None:
    raise InputError(f"has {constant}, which is no number of JSON")


def _local_file(path: Path) -> Path:
    """The path itself or, for a file on the hub, its copy in the hub's cache, which is downloaded if necessary. Raises
    InputError if the file does not exist or the hub cannot be reached."""
    address = _HUB.fullmatch(str(path))
    if address is None:
        return path
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    name, revision, file = address.group("name", "revision", "file")
    endpoint = os.environ.get("HF_ENDPOINT")
    try:
        return Path(hf_hub_download(name, file, repo_type="dataset", revision=revision, endpoint=endpoint))
    except (OSError, HFValidationError, HfHubHTTPError) as error:
        said = str(error).strip().partition("\n")[0]
        raise InputError(f"{path}: cannot be loaded from the hub: {said}") from error


def _lines(path: Path) -> Iterator[Member]:
    """Yield the members of a JSON Lines file: the fields of the first line, then one pair per line."""
    lines = parse_numbered_lines(path, lambda value, number: (number, value))
    for number, head in islice(lines, 1):
        if ANNOTATORS not in head:
            raise InputError(f"{path}:{number}: annotators: is missing.")
        yield from ((number, name, value) for name, value in head.items())
    yield from ((number, PAIRS, pair) for number, pair in lines)


def _version(metadata: Any) -> str:
    version = str(check_object(metadata, METADATA).get("version", "1.0"))
    if version.partition(".")[0] not in ("1", "2"):
        raise InputError(f"is {version}; versions 1 and 2 are known.", param=f"{METADATA}.version")
    return version


def _second_version(value: dict[str, Any]) -> dict[str, Any]:
    """Convert a pair of version 1 to version 2, which has an object for each response with its text and model."""
    fields: dict[str, Any] = {}
    for name, field in value.items():
        key, _, side = name.rpartition("_")
        if key in ("text", "model") and side in ("a", "b"):
            fields.setdefault(f"response_{side}", {})[key] = field
        else:
            fields[name] = field
    return fields


def _first_version(pair: Pair) -> dict[str, Any]:
    """Convert a pair to an object of version 1. Raises InputError for a field that version 1 does not have."""
    fields: dict[str, Any] = {}
    for name, field in pair.fields.items():
        if name not in ("response_a", "response_b"):
            fields[name] = field
            continue
        for key, value in field.items():
            if key not in ("text", "model"):
                raise InputError(f"pair {pair.id}: {name}.{key}: version 1 has no place for it.")
            fields[f"{key}_{name[-1]}"] = value
    return fields


def _document(head: Mapping[str, Any], pairs: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    """A JSON document, laid out as the public tool does it."""
    yield json.dumps(head, ensure_ascii=False, indent=2)[:-2] + f',\n  "{PAIRS}": ['
    before = ""
    for pair in pairs:
        text = json.dumps(pair, ensure_ascii=False, indent=2).replace("\n", "\n    ")
        yield f"{before}\n    {text}"
        before = ","
    yield "\n  ]\n}\n"


def _json_lines(head: Mapping[str, Any], pairs: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    for value in (head, *pairs):
        yield json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


DOCUMENTS, DRAFTS, FEEDBACK = "documents", "drafts", "feedback"
EXPORTED = (DOCUMENTS, DRAFTS, FEEDBACK)
MARK = ("object", "export")
DRAFTED, SENT = "drafted", "sent"
KEPT = ("voice", "stage", "model")
SENDER = Annotator(
    short_id(SENT), {"name": SENT, "description": "Prefers the text that was sent to the draft", "type": HUMAN}
)


def export_members(path: Path, members: Iterator[tuple[int, str, Any]]) -> Iterator[tuple[int, str, Any]]:
    """Yield each part of a data set made from an export of PEARL: a pair is a draft and the text that was sent instead.
    ``members``: the export's parts as line, name and value. Raises InputError if no sent text differs from its
    draft."""
    texts: dict[str, str] = {}
    drafts: dict[str, dict[str, Any]] = {}
    yield 1, "metadata", {"version": "2.0", KEYS: ["draft_id", *KEPT]}
    yield 1, "annotators", {SENDER.id: dict(SENDER.fields)}
    number = 0
    for line, name, value in members:
        if name not in EXPORTED or not isinstance(value, dict):
            continue
        try:
            with located(f"{path}:{line}: {name}"):
                if name == DOCUMENTS:
                    texts[_string(value, "id")] = _string(value, "text")
                elif name == DRAFTS:
                    drafts[_string(value, "id")] = value
                elif value.get("document_id") is not None:
                    draft, sent = drafts[_string(value, "draft_id")], texts[_string(value, "document_id")]
                    if _string(draft, "text").strip() != sent.strip():
                        number += 1
                        yield line, "comparisons", _pair(draft, sent)
        except KeyError as error:
            raise InputError(f"{path}:{line}: {name}: {error.args[0]} is not there.") from None
    if number == 0:
        raise InputError(f"{path}: no draft was changed before it was sent, so there is no pair in it.")


def _string(fields: dict[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise InputError(f"must be a string, not {json_type(value)}.", param=name)
    return value


def _pair(draft: dict[str, Any], sent: str) -> dict[str, Any]:
    responses = [{"text": draft["text"], "model": DRAFTED}, {"text": sent, "model": SENT}]
    swapped = coin(draft["id"])
    if swapped:
        responses.reverse()
    first, second = responses
    request = _string(draft, "request")
    return {
        "id": pair_id(first, second, request),
        "prompt": request,
        "response_a": first,
        "response_b": second,
        "annotations": {SENDER.id: annotation_of(Vote.A if swapped else Vote.B)},
        "metadata": {"draft_id": draft["id"], **{name: draft[name] for name in KEPT if draft.get(name)}},
    }
