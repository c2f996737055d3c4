"""The benchmarks run, and what they write is whole; no test looks at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import NAMES, RESULTS, benchmark, main
from benchmarks.corpus import find_corpus, first_lines
from benchmarks.figures import Result, read_result, read_results
from benchmarks.machine import ROOT
from benchmarks.many_users import LABELS
from benchmarks.rag import CLIENTS, INSTALLED, QUICK_CLIENTS
from benchmarks.workers import QUICK_USERS, USERS, WAYS


def workers(count: int) -> set[str]:
    routed = (f"{count}_{way}_{what}" for way in WAYS for what in ("p50", "p99", "builds", "mib"))
    loaded = (f"{name}_{what}" for name in ("one", "two") for what in ("per_second", "p99", "cpu_ms", "errors"))
    return {*routed, *loaded, "workers_ratio"}


def rag(*counts: int) -> set[str]:
    speeds = {f"{name}_{count}_{what}" for name in ("pearl", "rag") for count in counts for what in SPEEDS[:2]}
    ratios = {f"{count}_{what}_ratio" for count in counts for what in SPEEDS}
    return speeds | ratios | {"pearl_mib", "rag_mib", "mib_ratio"}


SPEEDS = ("per_second", "p50", "p99")
FIGURES = {
    "import": {
        *("documents_per_second", "documents_per_cpu_second", "recent_per_cpu_second", "peak_memory", "seconds"),
        "seconds_again",
    },
    "draft_overhead": {
        f"{name}_p{percent}"
        for name in ("overhead", "api", "retrieve", "prompt", "generate", "record", "wall", "bare", "mock")
        for percent in (50, 99)
    },
    "load": {
        f"{name}_{what}" for name in ("drafts", "mock") for what in ("errors", "calls", "per_second", "p50", "p99")
    },
    "retrieval": {"minilm_30_ms", "minilm_30_times", "minilm_100_plain_ms", "minilm_exponent_100"},
    "serving": {
        *("ready_s", "ready_endpoint_s", "memory_mib", "memory_endpoint_mib"),
        *("eight_p50_ms", "eight_p99_ms", "eight_spread", "eight_cut_short"),
    },
    "many_users": {
        *(f"{what}_{side}" for what in LABELS for side in ("few_ms", "many_ms", "ratio")),
        *(f"row_{what}" for what in ("first_ms", "again_ms", "builds", "before_mib", "half_mib", "end_mib")),
    },
    "workers": workers(USERS),
    "rag": rag(*CLIENTS),
}

QUICK_FIGURES = FIGURES | {"workers": workers(QUICK_USERS), "rag": rag(*QUICK_CLIENTS)}

# results of benchmarks that went to a tag
KEPT = {"gpu", "beside_litellm", "first_stage", "startup", "page", "install", "many_machines"}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def is_whole(result: Result) -> None:
    wanted = QUICK_FIGURES if result.quick else FIGURES
    assert all(figure.low <= figure.value <= figure.high for figure in result.figures)
    assert result.figures
    if result.benchmark in KEPT:
        assert result.command.startswith("git checkout ")
    else:
        assert {figure.name for figure in result.figures} >= wanted[result.benchmark]
        assert result.title == benchmark(result.benchmark).TITLE
    assert result.machine.cpu
    assert result.machine.cores >= 1
    assert result.machine.libraries
    assert result.input["corpus"]


@pytest.fixture(scope="module")
def some_documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared data with the first documents of each history that is measured on: enough for every quick run."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "data" / "commits").mkdir(parents=True)
    first_lines(find_corpus(folder), 3000, folder / "data" / "commits" / "git.jsonl.gz")
    return folder


@pytest.mark.slow
@pytest.mark.timeout(1200)  # each starts servers or loads models several times
@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run(
    embedded_once: None, some_documents: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "rag" and not INSTALLED.exists():
        pytest.skip("LangChain, no dependency, is not installed for it: python -m benchmarks rag would do it")
    monkeypatch.setenv("PEARL_SHARED", str(some_documents))
    # in this process: torch and the models' libraries are imported once for all of them
    assert main([name, "--quick", "--out", str(tmp_path)]) == 0
    result = read_result(tmp_path / f"{name}.json")
    assert result.quick
    is_whole(result)
    if name == "load":
        assert result.figure("drafts_errors").value == 0


def test_committed_results_are_whole_and_measured_in_earnest() -> None:
    results = read_results(RESULTS)
    assert {result.benchmark for result in results} == {*NAMES, *KEPT}
    for result in results:
        is_whole(result)
        assert not result.quick
        assert result.repetitions >= 3


def test_a_name_that_is_not_there() -> None:
    done = run("speed")
    assert done.returncode == 2
    assert "there is no speed; there are import, draft_overhead, load, retrieval" in done.stderr


def test_quick_figures_do_not_replace_measured_ones() -> None:
    done = run("--quick")
    assert done.returncode == 2
    assert "--quick needs --out" in done.stderr
