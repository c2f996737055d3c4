"""Removing from Markdown what engines and note-taking programs put there, in linear time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from service.importing.sources.html_text import without_data
from service.importing.sources.notices import PHRASES

MAX_TAG_CHARACTERS = 4_000
# what stands between such a tag and its end is somebody else's, or no prose
DROPPED_PAIRS = {
    *("highlight", "codeblock", "code", "quote", "blockquote", "pullquote", "comment", "mermaid", "chart", "math"),
    *("katex", "gist", "tweet", "include_code", "epigraph", "video", "audio", "style", "script", "raw_html", "svg"),
}
TAG_NAME = re.compile(r"[-\s]*+(/?)\s*+([\w./-]+)")
WIKILINK = re.compile(r"(!?)\[\[([^\[\]\n]{1,500})\]\]")
IMAGE = re.compile(
    r"!\[[^\[\]\n]{0,1000}\]"
    r"(?:\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,500})?\)|\[[^\[\]\n]{0,200}\])(?:\{[^{}\n]{0,300}\})?"
)
IMAGE_BY_NAME = re.compile(r"!\[[^\[\]\n]{0,500}\]")
EMPTY_LINK = re.compile(r"\[\s*\]\([^()\n]{0,2000}\)(?:\{[^{}\n]{0,300}\})?")
REFERENCE_LINK = re.compile(r"\[([^\[\]]{1,500})\]\s?\[[^\[\]\n]{0,200}\]")
DEFINITION = re.compile(r"^ {0,3}\[(?!\^)([^\[\]\n]{1,200})\]:[ \t]", re.MULTILINE)
BRACKETED = re.compile(r"(?<!\])(?<!\]\s)\[([^\[\]]{1,200})\](?![\[(:])")
LINK_WITHOUT_TARGET = re.compile(r"\[([^\[\]]{1,500})\]\((?:\s|(?:#|:/)[^()\s]{0,300})?\)")  # ":/" in Joplin
LINK_ATTRIBUTES = re.compile(r"(?<=\))\{[^{}\n]{1,300}\}")
INLINE_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9.-]{0,40}(?:\s[^<>]{0,1000})?/?>")
HIGHLIGHT = re.compile(r"==([^=\n]{1,1000})==")
BLOCK_ID = re.compile(r"(?:^|[ \t])\^[A-Za-z0-9-]{1,64}[ \t]{0,20}$", re.MULTILINE)
TASK_DATE = re.compile(r"[ \t][✅❌➕⏳🛫📅]\ufe0f?[ \t]?\d{4}-\d\d-\d\d(?![\w-])")  # of Obsidian's Tasks
BLOCK_REFERENCE = re.compile(r"\(\([0-9a-fA-F-]{36}\)\)")
ATTRIBUTE_LIST = re.compile(
    r"\{:[^{}\n]{0,300}\}|[ \t]\{[#.][^{}\n]{0,300}\}[ \t]{0,20}$|\{\s?\.[^{}\n]{0,300}\}", re.MULTILINE
)
FOOTNOTE_MARK = re.compile(r"\[\^[^\[\]\s]{1,60}\](?:: ?)?")
CALLOUT = re.compile(r"\[!([A-Za-z_ -]{1,30})(?:\|[^\]\n]{0,100})?\][-+]?[ \t]*")
OTHERS_CALLOUTS = {"quote", "cite"}
QUOTED = re.compile(r"[ \t]{0,3}>[ \t]?")
# lines that are no prose: directives' ends, table of contents, properties, tags alone, task meta data, references
DROPPED_LINE = re.compile(
    r"\s*(?::::.*|\[\[?_?toc_?\]?\]|\{:toc\}|\\newpage|\\pagebreak|(?:#[\w/-]++[ \t]*+)++"
    r"|(?:[-*+] )?(?:[A-Za-z][\w./-]{0,40}|[A-Z][\w -]{0,40}):: .*|(?:[-*+] )?[a-z][\w./-]{0,40}::"
    r"|(?:[-*+] )?(?:(?:SCHEDULED|DEADLINE|CLOSED|CLOCK): ?[<\[]|%%\().*)\s*$",
    re.IGNORECASE,
)
TIME = r"[\[<]\d{4}-\d\d-\d\d[^\]>\n]{0,30}[\]>]"
# what Org writes below a heading by itself: "- State "DONE" from "TODO" [2024-03-01 Fri 09:12]"
LOGGED = PHRASES.compile(rf'[ \t]*[-+*] {{logged}} *"?{TIME}"?(?: on {TIME})?(?: {{0,4}}\\\\)?[ \t]{{0,20}}')
OWN_DRAWER = re.compile(r"[ \t]*:([A-Za-z][\w-]{0,40}):[ \t]{0,20}")
DRAWER = re.compile(r"[ \t]*:(?:LOGBOOK|PROPERTIES):[ \t]*$", re.IGNORECASE)
PROPERTY = re.compile(r"[ \t]*:[\w-]{1,40}:(?:[ \t]|$)")
HEADING = re.compile(r"(?:#{1,6}|\*{1,20})[ \t]")
ORG_BLOCK = re.compile(r"[ \t]*(?:[-*+] )?#\+BEGIN(?:_|(?=:))([\w:]+)", re.IGNORECASE)  # in an item of a list in Logseq
ORG_END = re.compile(r"[ \t]*(?:#\+END(?:_|(?=:))([\w:]+)|:END:[ \t]*$)", re.IGNORECASE)
ORGS_OWN = {"SRC", "QUOTE", "EXAMPLE", "EXPORT", "COMMENT", "QUERY", ":"}  # blocks of no prose of the author's
OPEN_BLOCK = "Drawers and blocks that are never closed, of which only the marks are left out"
ADMONITION = ("!!! ", "??? ", "???+ ", "=== ")
MDX_CODE = re.compile(r"(?:import\s.+\sfrom\s+['\"]|import\s+['\"]|export\s+(?:const|default|function|let|async)\b)")


def clean_markup(text: str, mdx: bool = False, note: Callable[[str], None] = lambda kind: None) -> str:
    """Remove comments, template tags, embeds and the marks of note-taking programs. ``note`` is called with a
    description of any that is never closed."""
    text = without_data(text)
    for start, end in (("<!--", "-->"), ("{/*", "*/}"), ("%%", "%%"), ("<%", "%>"), ("{# ", "#}"), ("<?", "?>")):
        text = _without_pairs(text, start, end)
    text = _without_tags(text)
    text = _without_lines(text, mdx, note)
    text = WIKILINK.sub(_wikilink, text)
    text = IMAGE_BY_NAME.sub("", IMAGE.sub("", text))
    text = _without_brackets(text)
    return TASK_DATE.sub("", BLOCK_REFERENCE.sub("", BLOCK_ID.sub("", text)))


def clean_inline(text: str) -> str:
    """Remove what is left of markup within a block: attributes, HTML tags, links without a target."""
    for pattern in (EMPTY_LINK, LINK_ATTRIBUTES, ATTRIBUTE_LIST, FOOTNOTE_MARK, INLINE_TAG):
        text = pattern.sub("", text)
    for pattern in (REFERENCE_LINK, LINK_WITHOUT_TARGET, HIGHLIGHT):
        text = pattern.sub(r"\1", text)
    return text


def _without_pairs(text: str, start: str, end: str) -> str:
    """Remove the text between two marks, and the marks; a mark that is never closed stays."""
    pieces: list[str] = []
    at = 0
    while (opening := text.find(start, at)) >= 0:
        closing = text.find(end, opening + len(start))
        if closing < 0:
            break
        in_code = text[opening - 1 : opening] == "`"  # which tells of such marks
        pieces.append(text[at : closing + len(end) if in_code else opening])
        at = closing + len(end)
    return "".join(pieces) + text[at:]


def _without_brackets(text: str) -> str:
    """Turn reference links, ``[words]`` with the address further below, into links with an empty address."""
    defined = {" ".join(match[1].lower().split()) for match in DEFINITION.finditer(text)}
    if not defined:
        return text

    def shown(match: re.Match[str]) -> str:
        return f"[{match[1]}]()" if " ".join(match[1].lower().split()) in defined else match[0]

    return BRACKETED.sub(shown, text)


@dataclass(frozen=True, slots=True)
class TemplateTag:
    """A tag such as ``{% name %}``, ``{{< name >}}`` or ``{{ name }}``, and its place."""

    start: int
    end: int
    name: str
    opens: str  # what its end is called
    is_end: bool


def _without_tags(text: str) -> str:
    """Remove the tags of Liquid, Hugo, Jinja and others. Code and quotes between a pair of tags are removed, too."""
    tags = list(_template_tags(text))
    ends: dict[str, list[int]] = {}
    for tag in tags:
        if tag.is_end:
            ends.setdefault(tag.name, []).append(tag.start)
    pieces: list[str] = []
    at = 0
    for tag in tags:
        if tag.start < at:
            continue
        pieces.append(text[at : tag.start])
        at = tag.end
        closing = ends.get(tag.name, []) if tag.name in DROPPED_PAIRS and not tag.is_end else []
        position = bisect_right(closing, tag.start)
        if position < len(closing):
            at = closing[position]
    return "".join(pieces) + text[at:]


def _template_tags(text: str) -> Iterator[TemplateTag]:
    next_end = {"}}": -1, "%}": -1}
    at = text.find("{")
    while at >= 0:
        closing = {"{{": "}}", "{%": "%}"}.get(text[at : at + 2])
        if closing is None or text[at - 1 : at] == "`":
            at = text.find("{", at + (1 if closing is None else 2))
            continue
        if next_end[closing] < at + 2:
            position = text.find(closing, at + 2)
            next_end[closing] = position if position >= 0 else len(text)
        end = next_end[closing]
        if end - at > MAX_TAG_CHARACTERS or end == len(text):
            at = text.find("{", at + 2)
            continue
        inside = text[at + 2 : end].strip("<>% ")
        name = TAG_NAME.match(inside)
        word = name[2].lower() if name else ""
        is_end = bool(name and (name[1] or (closing == "%}" and word.startswith("end"))))
        end += text[at + 2] == "{" and text[end + 2 : end + 3] == "}"  # {{{ name }}}
        yield TemplateTag(at, end + 2, word.removeprefix("end") if is_end else word, word, is_end)
        at = text.find("{", end + 2)


def _wikilink(match: re.Match[str]) -> str:
    embed, inside = match.groups()
    if embed or inside.startswith("!"):
        return "" if embed else match[0]
    page, bar, words = inside.partition("|")
    if bar:
        shown = words.strip()
    else:
        page, _, heading = page.partition("#")
        shown = page.strip().rpartition("/")[2] or heading.strip(" ^")
    return f"[{shown}]()" if shown else ""  # a link still, for pages that are only links


def _without_lines(text: str, mdx: bool, note: Callable[[str], None]) -> str:
    prose: list[str] = []
    lines = text.split("\n")
    ends = block_ends(lines)
    at = 0
    while at < len(lines):
        line, end = lines[at], ends.get(at)
        at += 1
        block, is_drawer = ORG_BLOCK.match(line), DRAWER.match(line)
        if end is not None:
            prose += lines[at:end] if block and block[1].upper() not in ORGS_OWN else []
            at = end + 1
        elif block or is_drawer:  # only the marks go: what stands below them is text
            note(OPEN_BLOCK)
            while is_drawer and at < len(lines) and PROPERTY.match(lines[at]):
                at += 1
        elif mdx and MDX_CODE.match(line):
            while at < len(lines) and lines[at].strip():
                at += 1
            prose.append("")
        elif not DROPPED_LINE.match(line) and not LOGGED.fullmatch(line):
            prose.append(line)
    return "\n".join(_admonitions(_callouts(prose)))


def block_ends(lines: list[str]) -> dict[int, int]:
    """Map the first line of each closed block and drawer of an Org text to its last line."""
    opened: dict[str, int] = {}
    ends: dict[int, int] = {}
    for number, line in enumerate(lines):
        if DRAWER.match(line):
            opened[""] = number
        elif block := ORG_BLOCK.match(line):
            opened[block[1].upper()] = number
        elif end := ORG_END.match(line):
            name = (end[1] or "").upper()
            if name in opened:
                ends[opened.pop(name)] = number
        elif HEADING.match(line):
            opened.pop("", None)  # a drawer ends before the next one
    return ends


def _callouts(lines: list[str]) -> Iterator[str]:
    """Unquote callouts: a quote that begins with ``[!note]`` is the author's own text, unlike ``[!quote]``."""
    own = in_quote = False
    for line in lines:
        mark = QUOTED.match(line)
        if not mark:
            own = in_quote = False
            yield line
            continue
        content = line[mark.end() :]
        callout = CALLOUT.match(content)
        if callout:
            own = callout[1].strip().lower() not in OTHERS_CALLOUTS
            yield from ("", content[callout.end() :]) if own else (line,)
        elif own and not (in_quote and QUOTED.match(content)):
            yield content
        else:
            yield line
        in_quote = True


def _admonitions(lines: Iterator[str]) -> Iterator[str]:
    """Unindent the text below ``!!! note "Title"`` and tabs (Python-Markdown), so that it counts as prose, not code."""
    depth = -1  # of the admonition's own indentation, -1 outside
    for line in lines:
        content = line.lstrip(" ")
        indent = len(line) - len(content)
        if content.startswith(ADMONITION):
            depth = indent
            yield from ("", content.partition('"')[2].rpartition('"')[0], "")
        elif depth < 0 or not content:
            yield line
        elif indent < depth + 4:
            depth = -1
            yield line
        else:
            yield line[depth + 4 :]
