"""Org files: their keywords as fields, the rest as Markdown."""

from __future__ import annotations

import re
from typing import Any

from service.importers.notes.front_matter import field_name
from service.importers.notes.markup import DRAWER, ORG_BLOCK, block_ends

KEYWORD = re.compile(r"[ \t]*#\+(\w+):(?:[ \t]+(.*))?$")
HEADLINE = re.compile(r"(\*+)[ \t]+(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED)[ \t]+)?(?:\[#[A-Z]\][ \t]+)?(.*)$")
TAGS = re.compile(r"[ \t]:[\w@#%:]{1,200}:[ \t]{0,20}$")
PROPERTY = re.compile(r"[ \t]*:(\w+):[ \t]+(.*)$")
LINK = re.compile(r"\[\[([^\[\]\n]{1,1000})\](?:\[([^\[\]\n]{1,500})\])?\]")
COMMENT_LINE = re.compile(r"[ \t]*#(?:[ \t]|$)")
LIST_ITEM = re.compile(r"[ \t]*(?:[-+]|\d+[.)])[ \t]")


def read_org(text: str) -> tuple[dict[str, Any], str]:
    """The fields of its keywords and of the drawer before the first heading, and the rest as Markdown."""
    fields: dict[str, Any] = {}
    lines = []
    has_heading = False
    all_lines = text.split("\n")
    ends, end = block_ends(all_lines), -1
    for number, line in enumerate(all_lines):
        keyword = KEYWORD.match(line)
        headline = HEADLINE.match(line)
        end = max(end, ends.get(number, -1) if not DRAWER.match(line) else -1)
        if number <= end or ORG_BLOCK.match(line):
            lines.append(line)
        elif keyword:
            fields.setdefault(field_name(keyword[1]), (keyword[2] or "").strip())
        elif headline:
            has_heading = True
            lines.append(f"\n{'#' * min(6, len(headline[1]))} {TAGS.sub('', headline[2])}\n")
        elif not COMMENT_LINE.match(line):
            property_ = PROPERTY.match(line)
            if property_ and not has_heading:
                fields.setdefault(field_name(property_[1]), property_[2].strip())
            lines.append(line if LIST_ITEM.match(line) or line.strip().startswith(":") else line.strip())
    return fields, LINK.sub(_shown, "\n".join(lines))


def _shown(match: re.Match[str]) -> str:
    target, words = match.groups()
    if words:
        return words if target.startswith(("id:", "file:", "*", "#", "./")) else f"[{words}]({target})"
    return "" if target.startswith(("file:", "./", "attachment:")) else target.removeprefix("id:")
