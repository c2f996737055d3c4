"""The benchmarks run, and what they write is whole; no test looks at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import NAMES, RESULTS, benchmark, main
from benchmarks.beside_litellm import CLIENTS
from benchmarks.corpus import find_corpus, first_lines
from benchmarks.figures import Result, read_result, read_results
from benchmarks.first_stage import QUICK_SIZES, SIZES
from benchmarks.machine import ROOT
from benchmarks.many_users import LABELS
from benchmarks.workers import QUICK_USERS, USERS, WAYS
from tests.browser import CHROMIUM


def first_stage(*sizes: int) -> set[str]:
    return {f"{size}_{name}" for size in sizes for name in ("p50", "p99", "avx2_p50", "plain_p50", "ratio")}


def workers(*counts: int) -> set[str]:
    routed = (f"{count}_{way}_{what}" for count in counts for way in WAYS for what in ("p50", "p99", "builds", "mib"))
    loaded = (f"{name}_{what}" for name in ("one", "two") for what in ("per_second", "p99", "cpu_ms", "errors"))
    return {*routed, *loaded, "workers_ratio"}


PARTS = ("per_second", "p50", "p99")
FIGURES = {
    "beside_litellm": {
        *(f"{name}_{clients}_{what}" for name in ("pearl", "proxy") for clients in CLIENTS for what in PARTS),
        *("p50_ratio", "32_ratio", "32_tail", "64_ratio", "64_tail", "pearl_mib", "proxy_mib", "mib_ratio"),
    },
    "flame": {"loop"},
    "import": {
        *("documents_per_second", "documents_per_cpu_second", "recent_per_cpu_second", "peak_memory", "seconds"),
        *("seconds_again", "floor_seconds", "times_the_floor"),
    },
    "draft_overhead": {
        f"{name}_p{percent}"
        for name in ("overhead", "api", "retrieve", "prompt", "generate", "record", "wall", "bare", "mock")
        for percent in (50, 99)
    },
    "load": {
        f"{name}_{what}" for name in ("drafts", "mock") for what in ("errors", "calls", "per_second", "p50", "p99")
    },
    "scoring": {
        *("pairs_per_second", "plain_pairs_per_second", "times_plain"),
        *("difference_p50", "difference_p99", "gain_correlation"),
    },
    "gpu": {
        *("times_plain", "plain", "smollm2", "smollm2_gib", "mpnet", "mpnet_gib"),
        *(f"flan_t5_{size}{what}" for size in ("small", "base", "large", "xl") for what in ("", "_gib")),
    },
    "first_stage": first_stage(*SIZES),
    "retrieval": {"minilm_30_ms", "minilm_30_times", "minilm_100_plain_ms", "minilm_100_p99_ms", "minilm_exponent_100"},
    "serving": {
        *("ready_s", "ready_endpoint_s", "memory_mib", "memory_endpoint_mib"),
        *("eight_p50_ms", "eight_p99_ms", "eight_spread", "eight_cut_short"),
    },
    "many_users": {
        *(f"{what}_{side}" for what in LABELS for side in ("few_ms", "many_ms", "ratio")),
        *(f"row_{what}" for what in ("first_ms", "again_ms", "builds", "before_mib", "half_mib", "end_mib")),
    },
    "workers": workers(*USERS),
    "startup": {
        f"{what}_{time}"
        for what in ("help", "slowest_help", "import", "import_again", "first_draft", "draft")
        for time in ("cpu_s", "s")
    },
    "page": {f"{what}_p{percent}" for what in ("api", "page", "later") for percent in (50, 95)},
    "many_machines": {"workers_1", "workers_2", "workers_3", "times_2", "times_3"},
    "install": {
        *("total_s", "clone_s", "install_s", "fetch_s", "ready_s", "draft_s"),
        *("disk_mb", "environment_mb", "memory_mb"),
    },
}

QUICK_FIGURES = FIGURES | {
    "many_machines": {"workers_1", "workers_2", "times_2"},
    "first_stage": first_stage(*QUICK_SIZES),
    "workers": workers(*QUICK_USERS),
}

KEPT = {"gpu"}  # results of benchmarks that went


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def is_whole(result: Result) -> None:
    wanted = QUICK_FIGURES if result.quick else FIGURES
    assert {figure.name for figure in result.figures} >= wanted[result.benchmark]
    assert all(figure.low <= figure.value <= figure.high for figure in result.figures)
    if result.benchmark not in KEPT:
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
    if name in ("beside_litellm", "flame") and benchmark(name).PROGRAM is None:
        pytest.skip("its program, which is no dependency, is not installed")
    if name == "page" and CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
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
    assert (RESULTS / "draft_overhead.svg").exists()


def test_a_name_that_is_not_there() -> None:
    done = run("speed")
    assert done.returncode == 2
    assert "there is no speed; there are import, draft_overhead, load, beside_litellm" in done.stderr


def test_quick_figures_do_not_replace_measured_ones() -> None:
    done = run("--quick")
    assert done.returncode == 2
    assert "--quick needs --out" in done.stderr
