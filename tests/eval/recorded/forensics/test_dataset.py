from __future__ import annotations

import json

import pytest

from eval.recorded.forensics.dataset import DatasetHandler
from eval.recorded.forensics.metrics import ForensicsOptions, metrics_of_file
from pearl.errors import InputError


def test_the_figures_of_files_by_name(pairs_file):
    first = pairs_file({"people": "aabb", "is kind": "aab-", "is dry": "bbaa"})
    second = pairs_file({"people": "ab", "is kind": "ba"}, "second.json")
    dataset = DatasetHandler("people")
    dataset.add_data_from_path(str(first))
    dataset.add_data_from_path(second, "later")
    figures = metrics_of_file(first, ForensicsOptions("people"))
    assert dataset.get_overall_metrics()[first.name] == {"n": 4, **figures["overall"]}
    by_name = dataset.get_annotator_metrics()
    assert list(by_name) == [first.name, "later"]
    assert list(by_name[first.name].values()) == figures["annotators"]
    (kind,) = by_name["later"].values()
    assert kind["strength"]["value"] == -1.0


def test_the_default_annotator_is_the_reference(pairs_file):
    path = pairs_file({"people": "ab", "is kind": "ab"})
    with pytest.raises(InputError, match="names no default annotator"):
        DatasetHandler().add_data_from_path(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["metadata"] = {**content.get("metadata", {}), "default_annotator": "people"}
    path.write_text(json.dumps(content), encoding="utf-8")
    dataset = DatasetHandler()
    dataset.add_data_from_path(path)
    assert dataset.get_overall_metrics()[path.name]["n"] == 2
