"""A page on which people rate items: self-contained HTML that needs no network and saves JSON Lines.

Items are those of the judges, so people answer what a judge is asked. The page saves one rating per line, ``{"item",
"style"?, "rater", "label", "certainty"?, "swapped"}``: ratings for ``pearl eval agreement`` and ``pearl eval style``,
labels for ``pearl eval corrected``. Each rater sees items and texts in an own order; labels are about the item's own
texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval.asking.json_lines import check_fields, check_object, check_once, read_lines
from eval.recorded.style.lines import style_key
from eval.recorded.style.styles import STYLES, style_named
from eval.report.render import harmless_json
from pearl.errors import InputError
from pearl.text.usable import check_id, check_text

TEMPLATE = Path(__file__).with_name("rating_page.html")
Part = tuple[str, str]  # a title and a text


@dataclass(frozen=True, slots=True)
class RatedItem:
    """An item as one screen of the page shows it."""

    id: str
    question: str
    parts: Sequence[Part]  # above the question
    texts: tuple[str, str] | None = None  # shown beside each other, in the rater's order
    style: str = ""


@dataclass(frozen=True, slots=True)
class RatingForm:
    """The form by which people rate the items of one judge: labels, buttons and screen."""

    known_by: str  # a field that only lines of these items have
    labels: Mapping[str, str]  # what is saved, and the text of its button
    mirror: Sequence[int]  # for each label the index of the one that says the same of swapped texts
    screen: Callable[[dict[str, Any], RatingOptions], RatedItem | None]
    certainty: bool = False  # is asked for, too


@dataclass(frozen=True, slots=True)
class RatingOptions:
    """The options of ``pearl ratings page``."""

    systems: tuple[str, ...] | None = None  # the two to compare, where items have more
    raters: Sequence[str] = ()  # names to choose from; without any, a rater types a name
    tie: bool = False  # a person may prefer neither text


def _parts(value: Mapping[str, Any], **titles: str) -> list[Part]:
    return [(title, check_text(value[name], param=name)) for name, title in titles.items() if value.get(name)]


def _authorship(value: dict[str, Any], options: RatingOptions) -> RatedItem | None:
    check_fields(value, "id", "reference")
    candidates = check_object(value["candidates"], "candidates")
    systems = options.systems or ()
    missing = next((name for name in systems if name not in candidates), None)
    if missing is not None or len(set(systems)) != 2:
        known = ", ".join(candidates) or "none"
        raise InputError(f"has {known}; name two of them with --systems.", param="candidates")
    texts = [candidates[name] for name in systems]
    if None in texts:
        return None  # a draft that failed
    return RatedItem(
        check_id(value["id"]),
        "Which of the two is more likely by the author of the reference?",
        _parts(value, reference="Reference"),
        _two(texts, "candidates"),
    )


def _preference(value: dict[str, Any], options: RatingOptions) -> RatedItem | None:
    check_fields(value, "id")
    responses, persona = check_object(value["responses"], "responses"), value.get("persona") or ""
    if isinstance(persona, dict):
        persona = "\n".join(f"{name}: {said}" for name, said in persona.items() if said not in (None, ""))
    return RatedItem(
        check_id(value["id"]),
        "Which of the two is this person's own?" if value.get("own") else "Which of the two would this person choose?",
        _parts({"persona": persona, "question": value.get("question")}, persona="The person", question="Asked"),
        _two([responses.get("A"), responses.get("B")], "responses"),
    )


def _ranking(value: dict[str, Any], options: RatingOptions) -> RatedItem | None:
    check_fields(value, "id", "text_b")
    style = style_key(value)
    return RatedItem(
        check_id(value["id"]),
        f"Which of the two is more {style}?" if style else "Which of the two is more helpful?",
        _parts(value, request="Request"),
        _two([value["text_a"], value["text_b"]], "text_b"),
        style,
    )


def _detection(value: dict[str, Any], options: RatingOptions) -> RatedItem | None:
    check_fields(value, "id", "style")
    style = style_key(value)
    meant = value.get("definition") or STYLES.get(style_named(style) or "", "")
    return RatedItem(
        check_id(value["id"]),
        f"How much does the text have this style: {style}?",
        # what the text answers is not shown, as it is not to the judge: people rate the manner, not the content
        _parts({**value, "definition": meant}, definition=f"Style: {style}", text="Text"),
        style=style,
    )


FORMS = (
    RatingForm(
        "candidates",
        {"proposed": "Text 1", "tie": "Either could be, or neither", "baseline": "Text 2"},
        (2, 1, 0),
        _authorship,
    ),
    RatingForm(
        "responses", {"A": "Text 1", "B": "Text 2", "tie": "Neither more"}, (1, 0, 2), _preference, certainty=True
    ),
    RatingForm(
        "text_a",
        {
            "a_much": "Text 1, by far",
            "a_slightly": "Text 1",
            "tie": "The same",
            "b_slightly": "Text 2",
            "b_much": "Text 2, by far",
        },
        (4, 3, 2, 1, 0),
        _ranking,
    ),
    RatingForm(
        "text",
        {"not": "Not", "somewhat": "Somewhat", "very": "Very", "cant_tell": "Cannot tell"},
        (0, 1, 2, 3),
        _detection,
    ),
)


def rating_page(path: Path, options: RatingOptions) -> tuple[str, dict[str, Any]]:
    """The page for the items of a file, and counts of items and labels. Raises InputError that names file, line and
    field, or an option that does not apply to these items."""
    form: RatingForm | None = None
    lines: dict[tuple[str, str], int] = {}

    def screen(value: dict[str, Any], number: int) -> RatedItem | None:
        nonlocal form, options
        form = form or next((known for known in FORMS if known.known_by in value), None)
        if form is None or form.known_by not in value:
            names = ", ".join(known.known_by for known in FORMS)
            raise InputError(f"is missing; items have one of {names}, the same in a file.", param="text")
        if form.known_by == "candidates":  # the first line names the two for all, as it does for the judge
            named = options.systems or tuple(check_object(value["candidates"], "candidates"))
            options = replace(options, systems=named)
        item = form.screen(value, options)
        if item is not None:
            check_once(lines, (item.id, item.style), number, f"'{item.id}' is", param="id")
        return item

    screens = read_lines(path, set(), screen, "item").parsed
    items = [item for item in screens if item is not None]
    if not items or form is None:
        raise InputError(f"{path}: no line has a draft of both systems.")
    for option, value, needed in (("systems", options.systems, "candidates"), ("tie", options.tie, "responses")):
        if value and form.known_by != needed:
            raise InputError(f"--{option} is for items with {needed}; leave it out.")
    names = [name for name in form.labels if name != "tie" or form.known_by != "responses" or options.tie]
    study = {
        "items": [
            {"id": item.id, "style": item.style, "parts": item.parts, "texts": item.texts, "question": item.question}
            for item in items
        ],
        "labels": [
            {"name": name, "shown": form.labels[name], "mirror": form.mirror[list(form.labels).index(name)]}
            for name in names
        ],
        "certainty": form.certainty,
        "raters": list(options.raters),
    }
    text = json.dumps(study, ensure_ascii=False)
    study["digest"] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    counts = {"items": len(items), "left_out": len(screens) - len(items), "labels": names, "digest": study["digest"]}
    return TEMPLATE.read_text(encoding="utf-8").replace("@STUDY", harmless_json(study)), counts


def _two(texts: Sequence[Any], param: str) -> tuple[str, str]:
    first, second = (check_text(text, param=param) for text in texts)
    return first, second
