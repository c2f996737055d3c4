from __future__ import annotations

import pytest

from pearl.errors import InputError
from pearl.models.prompts import INTENTS, LENGTHS
from pearl.text.templates import DEFAULT_TEMPLATE, SLOT, change_template, fill, frame, load_template, template_names

SLOTS = {
    "system": {"noun", "guidance"},
    "task": {"instructions", "task", "request"},
    "task_without_request": {"noun"},
    "answer": {"text"},
    "instructions": {"instructions"},
    "revise": {"documents", "request", "draft", "instructions", "noun"},
    "questions": {"request"},
    "manner": {"noun"},
    "matter": set(),
    "length": {"words"},
    "quoted": {"noun", "documents", "length", "task"},
    "again": {"noun", "task"},
    **{f"intent_{intent}": set() for intent in INTENTS},
    **{f"length_{length}": set() for length in LENGTHS},
    "length_words": {"words"},
    "language": {"noun", "language"},
    "begun": {"noun", "begun"},
    "noted": {"writer", "noun", "to"},
    "told": {"writer", "to"},
    "received": {"writer", "noun"},
}


def test_the_four_kinds_of_text():
    assert template_names() == ("commit", "free", "message", "post")
    assert DEFAULT_TEMPLATE in template_names()


@pytest.mark.parametrize("name", ["commit", "free", "message", "post", "change"])
def test_each_template_loads(name):
    template = change_template() if name == "change" else load_template(name)
    assert template.name == name
    assert 1 <= template.k <= 10
    for words in (template.description, template.noun, template.guidance, template.task):
        assert words.strip() == words != ""
        assert not SLOT.search(words)


def test_the_frame_has_the_slots_that_are_filled():
    assert {name: set(SLOT.findall(text)) for name, text in frame().items()} == SLOTS


@pytest.mark.parametrize("name", ["letter", "_frame", "change", "_change", "", "../free", "free.toml"])
def test_a_template_that_is_not_there(name):
    with pytest.raises(InputError, match="commit, free, message, post") as caught:
        load_template(name)
    assert caught.value.param == "template"


def test_what_fills_a_slot_is_not_searched_for_slots():
    assert fill("{one} and {two}", one="{two}", two="{one}{x}") == "{two} and {one}{x}"
    assert fill("{text}", text="a {json: 1} {} {{a}}") == "a {json: 1} {} {{a}}"


def test_a_slot_without_a_filling():
    with pytest.raises(KeyError):
        fill("{one}")
