from __future__ import annotations

import json

import pytest

from pearl.errors import InputError
from pearl.options import check_writable, write_json


def test_json_of_texts_that_no_json_can_hold(tmp_path):
    write_json(str(tmp_path / "r.json"), {"command": "a\udcff", "models": [{"model\ud800": ("b\udc00", None, 1.5)}]})
    assert json.loads((tmp_path / "r.json").read_text()) == {
        "command": "a?",
        "models": [{"model?": ["b?", None, 1.5]}],
    }


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(InputError, match="Is a directory"):
        write_json(str(tmp_path), {})
    for target, complaint in ((tmp_path / "no" / "r.json", "there is no folder"), (tmp_path, "that is a folder")):
        with pytest.raises(InputError, match=complaint):
            check_writable("--json", target)


def test_what_holds_no_other_value_stands_on_one_line(tmp_path):
    value = {
        "n": 2,
        "rows": [{"gain": {"value": 1.5, "low": 1.0, "high": 2.0}, "bins": [1, 2, 3]}],
        "none": {},
        "é": [],
    }
    write_json(str(tmp_path / "result.json"), value)
    assert (tmp_path / "result.json").read_text(encoding="utf-8") == (
        '{\n  "n": 2,\n  "rows": [\n    {\n      "gain": {"value":1.5,"low":1.0,"high":2.0},\n'
        '      "bins": [1,2,3]\n    }\n  ],\n  "none": {},\n  "é": []\n}\n'
    )
