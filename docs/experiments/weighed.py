"""Parts written by hand beside the libraries that could replace them: the figures of docs/dependencies.md.

    pip install bm25s html2text tenacity       in an environment of its own: none of them is a dependency
    python docs/experiments/weighed.py         writes docs/experiments/weighed.json

Times are the best of several runs on this machine, in one process, and only their ratios are worth something. Texts are
the sample user's, and made from their words; mails are those of tests/service/importers/hard_mails.toml.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import platform
import random
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from functools import partial
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import uvicorn

from pearl.records import Request
from retriever.history.lexical import BM25Index, hashed_words, words
from retriever.models.encoder import SentenceEncoder, embedded_encoder_folder
from service.importers.base import Options, SourceDocument
from service.importers.html_text import html_to_text
from service.importers.mails import parts
from service.importers.mbox import MboxImporter
from service.sample import sample_documents

META: dict[str, Any] = {"protocolVersion": "2026-07-28", "clientCapabilities": {}}
ROOT = Path(__file__).parents[2]
OUT = Path(__file__).with_suffix(".json")
DOCUMENTS, REQUESTS, RUNS = 5900, 20, 5
MAILS = ROOT / "tests" / "service" / "importers" / "hard_mails.toml"
HOSTILE = {"divs": "<div>" * 100_000, "quotes": "<blockquote>a" * 100_000, "signs": "<" * 500_000}


def main() -> None:
    found = {
        "command": "python docs/experiments/weighed.py",
        "cpu": platform.processor() or platform.machine(),
        "bm25": bm25(),
        "html": html(),
        "export": export(),
        "retries": retries(),
        "mcp": protocol(),
    }
    OUT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def best(work: Callable[[], object], runs: int = RUNS) -> float:
    """The shortest time of the work, milliseconds."""
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return round(min(times) * 1000, 2)


def size_mb(*names: str) -> float:
    """The size of installed packages, megabytes."""
    files = [Path(str(file.locate())) for name in names for file in distribution(name).files or ()]
    return round(sum(file.stat().st_size for file in files if file.is_file()) / 1e6, 1)


def code_lines(*modules: str) -> int:
    return sum(len((ROOT / module).read_text(encoding="utf-8").splitlines()) for module in modules)


def bm25() -> dict[str, Any]:
    import bm25s
    from rank_bm25 import BM25Okapi

    draw = random.Random(0)
    vocabulary = [word for document in sample_documents() for word in words(document.text)]
    texts = [" ".join(draw.choices(vocabulary, k=draw.randint(10, 120))) for _ in range(DOCUMENTS)]
    requests = [" ".join(draw.choices(vocabulary, k=8)) for _ in range(REQUESTS)]
    tokenised = [words(text) for text in texts]

    def of_bm25s() -> Any:
        index = bm25s.BM25(method="robertson", k1=1.5, b=0.75)
        index.index(tokenised, show_progress=False)
        return index

    ours, okapi, sparse = BM25Index(hashed_words(texts)), BM25Okapi(tokenised), of_bm25s()
    same = max(
        float(np.abs(ours.scores(Request(request)) - okapi.get_scores(words(request))).max()) for request in requests
    )
    return {
        "documents": DOCUMENTS,
        "lines": code_lines("retriever/history/lexical.py", "retriever/history/postings.py"),
        "largest_difference_from_rank_bm25": round(same, 6),
        "ours": {
            "index_ms": best(lambda: BM25Index(hashed_words(texts))),
            "request_ms": best(lambda: [ours.scores(Request(request)) for request in requests]) / REQUESTS,
        },
        "rank-bm25": {
            "index_ms": best(lambda: BM25Okapi(list(map(words, texts)))),
            "request_ms": best(lambda: [okapi.get_scores(words(request)) for request in requests]) / REQUESTS,
        },
        "bm25s": {
            "index_ms": best(of_bm25s),
            "request_ms": best(lambda: [sparse.get_scores(words(request)) for request in requests]) / REQUESTS,
            "size_mb": size_mb("bm25s"),
        },
    }


def html() -> dict[str, Any]:
    import html2text

    def library(text: str) -> str:
        reader = html2text.HTML2Text(bodywidth=0)
        reader.ignore_links = reader.ignore_images = reader.ignore_emphasis = True
        return str(reader.handle(text))

    readers = {"ours": html_to_text, "html2text": library}
    mails = [mail for mail in tomllib.loads(MAILS.read_text(encoding="utf-8"))["mail"] if "text/html" in str(mail)]
    page = "".join(f"<p>{document.text}</p>" for document in sample_documents()) * 4
    found: dict[str, Any] = {"mails": len(mails), "lines": code_lines("service/importers/html_text.py")}
    for name, reader in readers.items():
        right = sum(_reads(mail, reader) for mail in mails)
        hostile = {title: best(partial(reader, text), runs=1) / 1000 for title, text in HOSTILE.items()}
        found[name] = {"mails_right": right, "page_ms": best(partial(reader, page)), "hostile_s": hostile}
    found["html2text"]["size_mb"] = size_mb("html2text")
    return found


def _reads(mail: dict[str, str], reader: Callable[[str], str]) -> bool:
    """True when the mail is read as its row says, with this reader of HTML."""
    sys.path.insert(0, str(MAILS.parent))
    from test_hard_mails import written

    usual = parts.html_to_text
    parts.html_to_text = reader
    try:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "a.mbox"
            source.write_bytes(written(mail))
            items = list(MboxImporter().read(source, Options(user="ann", me=("ann@example.org",))))
    finally:
        parts.html_to_text = usual
    documents = [item.document for item in items if isinstance(item, SourceDocument)]
    if "left_out" in mail:
        return not documents
    return [(document.text, document.request) for document in documents] == [(mail["text"], mail["request"])]


def export() -> dict[str, Any]:
    """The encoder's graph of ours, and the one that OpenVINO converts from torch: what an exporter would write."""
    import openvino
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = embedded_encoder_folder()
    texts = [document.text[:600] for document in sample_documents()]

    def load_ours() -> SentenceEncoder:
        encoder = SentenceEncoder()
        encoder.load()
        return encoder

    started = time.perf_counter()
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    example = dict(tokenizer(texts[:2], padding=True, return_tensors="pt"))
    with torch.inference_mode():
        converted = openvino.convert_model(model.eval(), example_input=example)
    export_s = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as out:
        file = Path(out) / "model.xml"
        openvino.save_model(converted, file)
        size = sum(part.stat().st_size for part in Path(out).iterdir()) / 1e6
        compiled = openvino.compile_model(file, "CPU", {"PERFORMANCE_HINT": "LATENCY"})
    encoder = load_ours()

    def library() -> Any:
        given = tokenizer(texts, padding=True, truncation=True, max_length=256, return_tensors="np")
        hidden = compiled(dict(given))[0]
        mask = given["attention_mask"][..., None]
        means = (hidden * mask).sum(1) / mask.sum(1)
        return means / np.linalg.norm(means, axis=1, keepdims=True)

    ours = encoder.encode_documents(texts)
    return {
        "texts": len(texts),
        "lines": code_lines(
            "pearl/runtime/silent_openvino.py",
            *(f"retriever/models/{name}.py" for name in ("graph", "quantized", "runtime", "folder")),
        ),
        "lowest_cosine_between_them": round(float((ours * library()).sum(1).min()), 4),
        "ours": {"texts_ms": best(lambda: encoder.encode_documents(texts)), "load_s": best(load_ours, 3) / 1000},
        "converted": {
            "texts_ms": best(library),
            "export_s": round(export_s, 1),
            "file_mb": round(size, 1),
            "needs_mb": size_mb("torch", "transformers"),
        },
    }


def retries() -> dict[str, Any]:
    started = time.perf_counter()
    importlib.import_module("tenacity")

    return {
        "lines": code_lines("pearl/asking/patience.py"),
        "budget_lines": code_lines("pearl/budget.py"),
        "tenacity_import_ms": round((time.perf_counter() - started) * 1000, 1),
        "tenacity_mb": size_mb("tenacity"),
    }


def protocol() -> dict[str, Any]:
    """Both in processes of their own: the service alone, and with the library that it would take."""

    def cost(modules: str) -> tuple[float, float]:
        program = f"import {modules}, resource, time; used = resource.getrusage(resource.RUSAGE_SELF)"
        program += "; print(time.process_time(), used.ru_maxrss)"
        done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, cwd=ROOT)
        seconds, kilobytes = done.stdout.split()
        return float(seconds), int(kilobytes) / 1024

    alone, both = (min(cost(modules) for _ in range(RUNS)) for modules in ("service.app", "service.app, mcp.server"))
    brings = (
        *("mcp", "mcp-types", "jsonschema", "jsonschema-specifications", "referencing", "rpds-py", "attrs"),
        *("pyjwt", "cryptography", "cffi", "pycparser", "python-multipart", "sse-starlette"),
    )
    return {
        "lines": sum(code_lines(f"service/mcp/{name}.py") for name in ("protocol", "stdio", "route")),
        "library": distribution("mcp").version,
        "packages": len(brings),
        "size_mb": size_mb(*brings),
        "import_ms": round((both[0] - alone[0]) * 1000),
        "memory_mb": round(both[1] - alone[1], 1),
        "client_leaves": asyncio.run(client_leaves()),
    }


async def client_leaves() -> dict[str, str]:
    """Say how a tool at work ends when the client of the library's server hangs up, by revision; it answers in JSON, as
    ours does."""
    from mcp.server import MCPServer

    ended: asyncio.Queue[str] = asyncio.Queue()
    begun = asyncio.Event()
    library = MCPServer("slow")

    @library.tool()
    async def slow() -> str:
        begun.set()
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            ended.put_nowait("is cancelled")
            raise
        ended.put_nowait("runs on")
        return ""

    config = uvicorn.Config(
        library.streamable_http_app(json_response=True, stateless_http=True), port=0, log_level="critical"
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - it has no event for that
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in META.items()}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "slow", "_meta": meta}}
    answers = {}
    for revision in ("2025-11-25", META["protocolVersion"]):
        headers = {"mcp-protocol-version": revision, "mcp-method": "tools/call", "mcp-name": "slow"}
        begun.clear()
        async with httpx2.AsyncClient(headers={"accept": "application/json", **headers}) as client:
            call = asyncio.create_task(client.post(f"http://127.0.0.1:{port}/mcp", json=body))
            await begun.wait()
            call.cancel()
            await asyncio.wait((call,))
        answers[revision] = await ended.get()
    server.should_exit = True
    await serving
    return answers


if __name__ == "__main__":
    main()
