"""llama.cpp in this process, through the library xllamacpp: runs any GGUF file of an architecture that it knows.

The library opens a server to tokenize and to apply templates. It listens only on a socket in a folder that only this
user can enter, with a random key, never on a network. Answers come by a function call.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import secrets
import shutil
import socket
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pearl.errors import ChatError
from pearl.models.chat.base import Decoding, Message
from pearl.models.chat.gguf_file import ModelFile

log = logging.getLogger(__name__)

NEEDED = ("avx2", "fma", "f16c", "bmi2")  # of a processor of the x86 family, by the library's wheel
BATCH = 128  # tokens read at a time: between two it is told how far it is, and left if nobody waits any more
REPEAT_PENALTY, REPEAT_WINDOW = 1.1, 256  # tokens, the prompt's among them; docs/experiments.md
TOP_K, MIN_P = 40, 0.05
ELSEWHERE = "name an endpoint with PEARL_LLM_BASE_URL and PEARL_LLM_MODEL."
WAITING = "OMP_WAIT_POLICY"
CALL_S = 60.0  # a call that only tokenizes or fills in the template
OTHER_MEMORY = 400_000_000  # bytes beside weights and context

Event = dict[str, Any]


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class LlamaCpp:
    """A loaded GGUF file with a number of slots, each of which can write one answer at a time."""

    file: ModelFile
    _server: Any  # xllamacpp.Server
    _socket: str
    _key: str

    def tokens(self, text: str) -> list[int]:
        """Tokenize a text; nothing in it becomes a control token."""
        return list(self._call("/tokenize", content=text, parse_special=False)["tokens"]) if text else []

    def begin(self) -> list[int]:
        """Return the tokens that every prompt begins with: one or none."""
        return list(self._call("/tokenize", content="", add_special=True)["tokens"])[:1]

    def apply(self, messages: Sequence[Message]) -> str:
        """Apply the file's chat template to a conversation, up to where the answer begins. Raises ChatError."""
        written = [{"role": message.role, "content": message.content} for message in messages]
        return str(self._call("/apply-template", messages=written)["prompt"])

    def complete(self, prompt: Sequence[int], decoding: Decoding, heard: Callable[[Event], bool]) -> None:
        """Generate an answer to the prompt; ``heard`` is called with each event and returns True to stop."""
        choices = " | ".join(json.dumps(choice, ensure_ascii=False) for choice in decoding.choices)
        wanted = {
            "prompt": list(prompt),
            "max_tokens": decoding.max_tokens,
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "top_k": TOP_K,
            "min_p": MIN_P,
            "repeat_penalty": REPEAT_PENALTY,
            "repeat_last_n": REPEAT_WINDOW,
            "seed": decoding.seed,
            "stop": [stop for stop in decoding.stop if stop],
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,
            "timings_per_token": True,  # an answer may be left before its end
            **({"grammar": f"root ::= {choices}"} if choices else {}),
        }
        self._server.handle_completions(wanted, heard)

    def _call(self, route: str, **body: Any) -> dict[str, Any]:
        connection = http.client.HTTPConnection("localhost", timeout=CALL_S)
        connection.sock = socket.socket(socket.AF_UNIX)
        try:
            connection.sock.settimeout(CALL_S)
            connection.sock.connect(self._socket)
            headers = {"content-type": "application/json", "authorization": f"Bearer {self._key}"}
            connection.request("POST", route, json.dumps(body), {**headers, "connection": "close"})
            response = connection.getresponse()
            answer: dict[str, Any] = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ChatError(f"llama.cpp does not answer ({error}); restart PEARL.", code="llm_failed") from error
        finally:
            connection.close()
        if response.status != http.client.OK:
            reason = answer.get("error", {}).get("message", response.status)
            raise ChatError(
                f"The chat template of {self.file.path} fails ({reason}); get another GGUF file of this model.",
                code="llm_failed",
            )
        return answer


def load_llama_cpp(file: ModelFile, *, context_tokens: int, slots: int) -> LlamaCpp:
    """Load a file for ``slots`` answers at once, each with its own context. Raises ChatError with what to do."""
    check_processor()
    _check_sockets()
    _check_memory(file, context_tokens, slots)
    xllamacpp = load_library()
    folder = tempfile.mkdtemp(prefix="pearl-llm-")  # only this user can enter it
    key = secrets.token_urlsafe(32)
    params = xllamacpp.CommonParams()
    params.model.path = str(file.path)
    params.hostnames, params.api_keys = [f"{folder}/llama.sock"], [key]
    params.n_ctx, params.n_parallel = context_tokens * slots, slots
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count() or 1
    params.n_threads_http = slots + 4
    # read, not mapped: what is packed anew for this processor would be in memory twice
    params.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE
    params.cache_ram_mib = 0  # prompts of answers long past, otherwise up to 8 GiB
    params.fit_params = params.warmup = params.ui = params.endpoint_slots = False
    params.enable_reasoning = 0
    params.verbosity = -1
    try:
        server = _serve(xllamacpp, params, file)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    loaded = LlamaCpp(file, server, f"{folder}/llama.sock", key)
    weakref.finalize(loaded, shutil.rmtree, folder, ignore_errors=True)
    if not file.chat_template:
        log.warning("%s names no chat template; that of ChatML is used", file.path)
    return loaded


def load_library() -> Any:
    """Import and return the library, such that its threads sleep while they wait. By default OpenMP's threads spin, and
    beside another busy program an answer took ten times as long. Raises ChatError."""
    with ExitStack() as stack:
        if WAITING not in os.environ:
            os.environ[WAITING] = "passive"  # read once, when OpenMP is loaded; not meant for the libraries after it
            stack.callback(os.environ.pop, WAITING, None)
        try:
            import xllamacpp
        except ImportError as error:
            raise ChatError(
                f"llama.cpp cannot be loaded ({error}); install xllamacpp and, on Debian and Ubuntu, libgomp1.",
                code="llm_not_installed",
            ) from error
    return xllamacpp


def _serve(library: Any, params: Any, file: ModelFile) -> Any:
    try:
        server = library.Server(params)
    except RuntimeError as error:
        raise ChatError(
            f"llama.cpp {library.__version__} cannot load {file.path}: it does not know the architecture "
            f"'{file.architecture}' or this packing, cannot read the chat template, or the file is damaged; get it "
            "again, or a GGUF file of another model.",
            code="llm_failed",
        ) from error
    # one that is closed before its loop runs would never end
    server.handle_completions({"prompt": [0], "max_tokens": 1}, lambda event: False)
    return server


def check_processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Check that the processor has the instructions the library needs, else it would crash. Raises ChatError."""
    if not cpuinfo.is_file():
        return
    flags = next((line.split() for line in cpuinfo.read_text().splitlines() if line.startswith("flags")), None)
    if flags is not None and (missing := [name for name in NEEDED if name not in flags]):
        raise ChatError(
            f"This machine's processor lacks {', '.join(missing).upper()}, which llama.cpp needs; {ELSEWHERE}",
            code="llm_unsupported_processor",
        )


def _check_sockets() -> None:
    """Refuse a system on which Python has no Unix sockets: any other port could be used by others on the machine."""
    if not hasattr(socket, "AF_UNIX"):
        raise ChatError(
            f"Python has no Unix sockets on this system ({sys.platform}), which PEARL needs for llama.cpp; {ELSEWHERE}",
            code="llm_failed",
        )


def _check_memory(file: ModelFile, context_tokens: int, slots: int) -> None:
    free = _free_memory()
    needed = file.size + file.bytes_of_a_token * context_tokens * slots + OTHER_MEMORY
    if free is not None and needed > free:
        raise ChatError(
            f"{file.path} with {slots} contexts of {context_tokens} tokens needs {needed / 1e9:.1f} GB of memory, and "
            f"{free / 1e9:.1f} GB are free; lower PEARL_LLM_CONTEXT_TOKENS, or take a smaller model.",
            code="llm_failed",
        )


def _free_memory() -> int | None:
    """Bytes that can be had without swapping; None where the system does not say."""
    if sys.platform != "linux":
        return None
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None
