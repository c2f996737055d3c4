"""The alert rules and the board name metrics, stages and routes that the service has; promtool tries the rules."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from pearl.settings import load_settings
from service.http.app import create_app
from service.process.metrics import Metrics
from tests.source import ROOT

RULES, BOARD = ROOT / "deploy" / "alerts.yaml", ROOT / "deploy" / "grafana.json"
NAME = re.compile(r"\bpearl_\w+")


def expressions() -> list[str]:
    rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]
    panels = json.loads(BOARD.read_text(encoding="utf-8"))["panels"]
    return [rule["expr"] for rule in rules] + [target["expr"] for panel in panels for target in panel["targets"]]


def test_every_metric_is_one_of_ours() -> None:
    metrics = Metrics()
    ours = {
        f"{metric.name}_{kind}"
        for metric in metrics.registry.collect()
        for kind in (("bucket", "sum", "count") if metric.type == "histogram" else ("total",))
    }
    named = {name for expression in expressions() for name in NAME.findall(expression)}
    assert named
    assert named <= ours


def test_every_route_is_one_of_ours(tmp_path: Path) -> None:
    paths = set(create_app(load_settings(home=tmp_path, llm="embedded")).openapi()["paths"])
    for pattern in re.findall(r'route=~"([^"]+)"', " ".join(expressions())):
        prefix, _, names = pattern.partition("(")
        assert {prefix + name for name in names.rstrip(")").split("|")} <= paths


def test_promtool_takes_the_rules_and_they_fire_when_they_should() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("there is no promtool (Debian's package prometheus)")
    for arguments in (["check", "rules", RULES], ["test", "rules", Path(__file__).with_name("alerts_test.yaml")]):
        done = subprocess.run([promtool, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
