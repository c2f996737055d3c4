"""Recognizing notes that are no finished texts of their owner (drafts, clippings), and reading their authors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from service.importing.sources.quotes import LINE_CHARACTERS
from service.importing.sources.stamps import match_stamp, plain_spaces

NOTE_SUFFIXES = (".md", ".markdown", ".mdown", ".mkd", ".mkdn", ".mdwn", ".mdx", ".qmd", ".rmd", ".org")
OFFICE_SUFFIXES = (".docx", ".odt")
SUFFIXES = (*NOTE_SUFFIXES, ".txt", *OFFICE_SUFFIXES)
DRAFT, TEMPLATE, CLIPPING = "draft", "template", "clipping of somebody else's text"
CHAT = "chat with others"
NO_PROSE, NOT_OWN = "drawing or board", "part of a package or theme"
DRAFT_FOLDERS = {"_drafts", "drafts", "draft"}
TEMPLATE_FOLDERS = {
    *("templates", "template", "_templates", "archetypes", "scaffolds"),
    *("_includes", "_layouts", "layouts"),
}
PACKAGE_FOLDERS = {"node_modules", "bower_components", "_site", "site-packages", "examplesite"}
FOLDERS_OF_PACKAGES = {"vendor", "themes"}  # with a folder for each; a note directly in "Themes" is a note
CLIPPING_FOLDERS = {
    *("clippings", "readwise", "omnivore", "instapaper", "pocket", "raindrop", "matter", "kindle", "kindle highlights"),
    *("web clips", "webclips"),
}
CLIPPING_TAGS = {"clippings", "clipping", "clipped", "readwise", "omnivore", "instapaper", "raindrop", "highlights"}
CLIPPING_FIELDS = {"readwiseurl", "omnivore", "datesaved", "kindlesync", "clipped", "clippedat", "highlightsurl"}
LEGAL = re.compile(r"(?:licen[cs]e|copying|code[-_ ]of[-_ ]conduct|pull_request_template)(?:\.[\w-]+)?$")
TEMPLATE_MARK = re.compile(r"<%[^\n%]{0,300}%>|\{\{\s*(?:title|date|time|\.\w+|Title|now|cursor)[^{}\n]{0,80}\}\}")
SPEAKER = re.compile(r"[^:\n]{1,60}?: ")
SPEAKER_WORDS = 5
HEAD_CHARACTERS = 16_000
CHAT_LINES = 50
STATES = ("draft", "published", "status")
NAMES_WITHIN = re.compile(r"[,;&]|\band\b|\n")
MAX_AUTHORS = 50


def is_chat(head: str) -> bool:
    """True for an exported chat (WhatsApp, Signal): on at least half of the lines that begin with a date and time, a
    speaker's name follows."""
    stamps = speakers = 0
    for line in head[:HEAD_CHARACTERS].split("\n")[:CHAT_LINES]:
        line = plain_spaces(line[:LINE_CHARACTERS])
        stamp = match_stamp(line)
        if stamp:
            stamps += 1
            speaker = SPEAKER.match(line, stamp.end())
            speakers += speaker is not None and len(speaker[0].split()) <= SPEAKER_WORDS
    return stamps > 0 and speakers * 2 >= stamps


def is_unfilled(head: str) -> bool:
    """True if the front matter holds a template's placeholders."""
    return TEMPLATE_MARK.search(head) is not None


def why_no_text(name: str, fields: Mapping[str, Any], head: str) -> str | None:
    """Return why a file is not imported, None if it is. ``name``: its path; ``head``: its front matter as written."""
    above = [part.lower() for part in PurePosixPath(name).parts[:-1]]
    folders = set(above)
    stem = PurePosixPath(name).stem.lower()
    if folders & PACKAGE_FOLDERS or FOLDERS_OF_PACKAGES.intersection(above[:-1]) or LEGAL.match(stem):
        return NOT_OWN
    if folders & TEMPLATE_FOLDERS or stem in ("template", "_template") or is_unfilled(head):
        return TEMPLATE
    if stem.endswith(".excalidraw") or fields.keys() & {"excalidrawplugin", "kanbanplugin"}:
        return NO_PROSE
    if folders & DRAFT_FOLDERS or _is_draft(fields):
        return DRAFT
    tags = set(_tags(fields))
    if folders & CLIPPING_FOLDERS or tags & CLIPPING_TAGS or fields.keys() & CLIPPING_FIELDS:
        return CLIPPING
    return None


def has_foreign_source(fields: Mapping[str, Any]) -> bool:
    """True if the metadata names a web address that the text was taken from."""
    addresses = (fields.get(name) for name in ("source", "sourceurl", "url", "link", "originalurl"))
    return any(
        isinstance(address, str) and address.strip("\"'[(").startswith(("http://", "https://")) for address in addresses
    )


def authors(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the authors that the metadata names, in any form that blog engines and note-taking programs write."""
    names: list[str] = []
    for name in ("author", "authors", "by", "byline", "creator", "writer", "writtenby", "postedby"):
        names += _names(fields.get(name))
    return tuple(dict.fromkeys(author for author in names if author))[:MAX_AUTHORS]


def _is_draft(fields: Mapping[str, Any]) -> bool:
    states = {name: str(fields[name]).strip().lower() for name in STATES if isinstance(fields.get(name), (str, int))}
    return (
        states.get("draft") in ("true", "yes", "1")
        or states.get("published") in ("false", "no")
        or states.get("status") in ("draft", "drafts", "hidden", "skip", "unpublished")
    )


def _tags(fields: Mapping[str, Any]) -> Iterable[str]:
    for name in ("tags", "tag", "category", "categories", "type", "filetags"):
        value = fields.get(name)
        for tag in value[:MAX_AUTHORS] if isinstance(value, list) else re.split(r"[,\s:]+", str(value or "")[:2_000]):
            if isinstance(tag, str):
                yield tag.strip("#\"'[] ").rpartition("/")[2].lower()


def _names(value: Any, depth: int = 0) -> list[str]:
    if isinstance(value, str):
        # "[[Jane Doe]]", "[Jane](https://...)", "Jane Doe and Bob", "Jane <jane@example.org>"
        text = re.sub(r"\]\([^()\n]{0,500}\)", "]", value[:1_000]).replace("[", "").replace("]", "")
        whole = [re.sub(r"\|.*", "", part).strip(" \"'@") for part in NAMES_WITHIN.split(text)]
        addresses = [address for person in whole for address in re.findall(r"[^\s<>]{1,100}@[^\s<>]{1,100}", person)]
        return [*(re.sub(r"\s*<[^<>]{0,200}>", "", person) for person in whole), *addresses]
    if depth > 1:
        return []
    if isinstance(value, list):
        return [name for person in value[:MAX_AUTHORS] for name in _names(person, depth + 1)]
    if isinstance(value, dict):
        parts = (value.get(key) for key in ("name", "title", "email", "github", "handle", "key", "login"))
        return [name for part in parts for name in _names(part, depth + 1)]
    return []
