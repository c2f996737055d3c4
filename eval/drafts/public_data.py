"""Public benchmarks of personal writing, read from the files that their authors publish: requests, what people really
wrote for them, and the same people's earlier texts. Faulty records are left out and counted."""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatch
from html import unescape
from pathlib import Path
from typing import Any

import orjson

from eval.benchmarks.pairs import Ledger
from eval.drafts.cases import Case, cases_of_histories
from eval.retrieval.gains import GainsRecord
from pearl.errors import InputError
from pearl.records import Document, Request
from pearl.text.history.files import decompressed, read_histories, read_json_lines, reading
from pearl.text.words import count_words
from retriever.base import oldest_first
from retriever.reward.record_files import parse_objects

DAY_S = 86_400.0
HELD_OUT = ("test", "val", "dev", "train")  # parts of a data set; the first that has its targets is measured
LAMP_FIELDS = {  # by task: the fields of a profile's record that hold the person's text, and what it answered
    "LaMP_4": ("title", ("text",)),
    "LaMP_5": ("title", ("abstract",)),
    "LaMP_7": ("text", ()),
}
LONGLAMP_FIELDS: Mapping[str, tuple[str, ...]] = {  # by the field of the text: what it answered
    "reviewText": ("overall", "summary", "description"),
    "content": ("summary",),
    "abstract": ("title",),
    "text": ("title", "subject"),
}
LONGLAMP_USER = ("reviewerId", "author", "name", "id")  # the first that a row has is its user
POST = re.compile(r"<date>(?P<date>[^<]*)</date>\s*<post>(?P<text>.*?)</post>", re.DOTALL | re.IGNORECASE)
OPENED = re.compile(r"<post>", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?…])\s+")
LEAST_WORDS, LONGEST_OPENING = 30, 40  # words of a blog's post, and of its first sentence, which is the request
MAIL = re.compile(r"(?P<owner>[^_]+)_+(?P<folder>.*sent.*)_(?P<number>\d+)\.subject", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A public benchmark: its files, the template of its prompts, and the function that reads its cases."""

    name: str
    about: str
    files: tuple[str, ...]  # patterns of their names
    template: str  # of the prompts
    read: Callable[[Sequence[Path], int, Ledger], list[Case]]  # of the files, and the targets of each user at most


@dataclass(frozen=True, slots=True)
class BenchmarkData:
    """The cases of a benchmark, counts of what was left out, and a checksum of the files."""

    cases: tuple[Case, ...]
    ledger: Ledger
    files: int
    sha256: str  # of all files, by name

    def among(self, users: int | None, past: int | None, seed: int) -> list[Case]:
        """Return the cases of a random sample of ``users`` users, each with only its ``past`` newest documents."""
        owners = sorted({case.owner for case in self.cases})
        drawn = set(owners if users is None else random.Random(seed).sample(owners, min(users, len(owners))))
        return [_newest(case, past) for case in self.cases if case.owner in drawn]


def read_benchmark(benchmark: Benchmark, folder: Path, targets: int) -> BenchmarkData:
    """Read a benchmark's folder or file. Raises InputError for other files, and if no item is left."""
    paths = _matching(folder, benchmark)
    if not paths:
        others = [other.name for other in BENCHMARKS.values() if other is not benchmark and _matching(folder, other)]
        like = f"; it may be {' or '.join(others)}" if others else ""
        wanted = " or ".join(benchmark.files)
        raise InputError(f"--data {folder}: there is no {wanted} of {benchmark.name}{like}.")
    ledger, digest = Ledger(), hashlib.sha256()
    cases = benchmark.read(paths, targets, ledger)
    ledger.check_left(f"--data {folder}: {benchmark.name}", cases)
    for path in paths:
        digest.update(path.name.encode(errors="replace") + b"\0")
        with reading(path) as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return BenchmarkData(tuple(cases), ledger, len(paths), digest.hexdigest())


def _matching(folder: Path, benchmark: Benchmark) -> list[Path]:
    files = [folder] if folder.is_file() else folder.rglob("*")
    return sorted(path for path in files if any(fnmatch(path.name, pattern) for pattern in benchmark.files))


def _newest(case: Case, past: int | None) -> Case:
    if past is None:
        return case
    documents = case.record.documents
    kept = tuple(documents[index] for index in sorted(oldest_first(documents)[-past:]))
    return replace(case, record=replace(case.record, documents=kept, gains=(0.0,) * len(kept)))


def _part(paths: Sequence[Path]) -> list[Path]:
    """Return the files of the first part in HELD_OUT that exists; all files if no name says its part."""
    by_part = ([path for path in paths if part in path.name.lower()] for part in HELD_OUT)
    return next(filter(None, by_part), list(paths))


def _lamp(paths: Sequence[Path], targets: int, ledger: Ledger) -> list[Case]:
    """Read LaMP's generation tasks (Salemi et al. 2024): a file of questions, and a file of their outputs."""
    questions = [path for path in paths if "_questions" in path.name]
    questions = _part([path for path in questions if _outputs_of(path).exists()])
    if len(questions) != 1:
        raise InputError(
            f"{paths[0].parent}: {len(questions)} files of questions have their outputs beside them; give the folder "
            "of one task."
        )
    task, outputs = _outputs(_outputs_of(questions[0]))
    text, asked = LAMP_FIELDS[task]
    cases: list[Case] = []
    for row in parse_objects(questions[0], lambda value, number: value):
        ledger.read[f"questions of {task}"] += 1
        user = str(row.get("id", ""))
        documents = _profile(row, lambda record: (text, asked), ledger)
        cases += _case(user, user, row.get("input"), outputs.get(user), documents, ledger)
    return cases


def _outputs_of(questions: Path) -> Path:
    """The file that holds the outputs of these questions."""
    return questions.with_name(questions.name.replace("_questions", "_outputs"))


def _outputs(path: Path) -> tuple[str, dict[str, Any]]:
    """Read the task, and the target of each question by id."""
    with reading(path) as raw, decompressed(raw) as file:
        try:
            value = orjson.loads(file.read())
            outputs = {str(row["id"]): row.get("output") for row in value["golds"]}
            task = str(value["task"]).replace("-", "_")
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: holds no outputs of LaMP ({error}).") from error
    if task not in LAMP_FIELDS:
        raise InputError(f"{path}: task: {task} asks for no text; there are {', '.join(LAMP_FIELDS)}.")
    return task, outputs


def _longlamp(paths: Sequence[Path], targets: int, ledger: Ledger) -> list[Case]:
    """A task of LongLaMP (Kumar et al. 2024), split by users or by time: one row per target."""

    def fields(record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]] | None:
        return next(((text, asked) for text, asked in LONGLAMP_FIELDS.items() if record.get(text)), None)

    cases: list[Case] = []
    for path in _part(paths):
        for number, row in enumerate(_rows(path, ledger), start=1):
            ledger.read["rows"] += 1
            user = next((str(row[name]) for name in LONGLAMP_USER if row.get(name)), f"{path.name}:{number}")
            documents = _profile(row, fields, ledger)
            cases += _case(user, f"{user} {number}", row.get("input"), row.get("output"), documents, ledger)
    return cases


def _rows(path: Path, ledger: Ledger) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a Parquet file, a JSON array or JSON Lines; unreadable lines of JSON Lines are skipped."""
    if path.suffix == ".parquet":
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile

        try:
            for batch in ParquetFile(path).iter_batches(batch_size=64):
                yield from batch.to_pylist()
        except (ArrowInvalid, OSError) as error:
            raise InputError(f"{path}: cannot be read as Parquet: {error}") from error
    elif path.name.endswith(".json"):
        yield from parse_objects(path, lambda value, number: value)
    else:
        for line in read_json_lines(path):
            if isinstance(line.value, InputError):
                ledger.drop("line that is no JSON object", f"{path.name}:{line.number}")
            else:
                yield line.value


FieldsOf = Callable[[Mapping[str, Any]], tuple[str, tuple[str, ...]] | None]


def _profile(row: Mapping[str, Any], fields: FieldsOf, ledger: Ledger) -> list[Document]:
    """Read the texts of a profile, in its order; records without a text are left out."""
    documents = []
    records = row.get("profile")
    for number, record in enumerate(records if isinstance(records, list) else (), start=1):
        found = fields(record) if isinstance(record, dict) else None
        text = _string(record.get(found[0])) if found else ""
        if not found or not text:
            ledger.drop("record of a profile without a text", f"{row.get('id', '')} {number}")
            continue
        asked = "\n".join(filter(None, (_string(record.get(name)) for name in found[1])))
        documents.append(Document(str(number), text, _time(record.get("date") or record.get("year")), asked or None))
    return documents


def _string(value: object) -> str:
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _time(value: object) -> float | None:
    """The time of an ISO date or a year; None for anything else."""
    try:
        said = f"{value}-01-01" if re.fullmatch(r"\d{4}", str(value)) else str(value)
        return datetime.fromisoformat(said).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _case(
    user: str, name: str, request: object, target: object, documents: Sequence[Document], ledger: Ledger
) -> Iterator[Case]:
    """Yield the case of a row, unless something is wrong with it."""
    asked, wanted = _string(request), _string(target)
    faults = {
        "item without a request": not asked,
        "item without a target": not wanted,
        "item without earlier texts": not documents,
        "target among the earlier texts": any(wanted.split() == document.text.split() for document in documents),
    }
    if ledger.keeps(name, faults):
        times = [document.timestamp for document in documents if document.timestamp is not None]
        after = max(times) + DAY_S if len(times) == len(documents) else None
        zeros = (0.0,) * len(documents)  # not used
        record = GainsRecord(Request(asked, timestamp=after), user, name, wanted, tuple(documents), zeros)
        yield Case(record, f"user {user}", wanted)


def _held_back(histories: Mapping[str, list[Document]], targets: int, ledger: Ledger) -> list[Case]:
    """Make cases of each user's newest texts, with the texts before them."""
    cases = cases_of_histories(histories, targets)
    for user in histories.keys() - {case.record.user_id for case in cases}:
        ledger.drop("user without an earlier text", user)
    return cases


def _blogs(paths: Sequence[Path], targets: int, ledger: Ledger) -> list[Case]:
    """Read the Blog Authorship Corpus (Schler et al. 2006): one file per blogger, not quite XML. A post has no title:
    its first sentence is the request, the rest is the text."""
    histories: dict[str, list[Document]] = {}
    for path in paths:
        raw = path.read_bytes()
        try:
            content = raw.decode()
        except UnicodeDecodeError:
            content = raw.decode("latin-1")
        posts = list(POST.finditer(content))
        for _ in range(len(OPENED.findall(content)) - len(posts)):
            ledger.drop("post that is cut off or has no date", path.name)
        user = path.name.partition(".")[0]
        for number, post in enumerate(posts):
            ledger.read["posts"] += 1
            opening, _, text = _lines(unescape(post["text"])).partition("\n\n")
            first, *rest = SENTENCE.split(opening, maxsplit=1)
            text = "\n\n".join(filter(None, (*rest, text)))
            time, name = _blog_time(post["date"]), f"{user}-{number}"
            faults = {
                "post whose date cannot be read": time is None,
                f"post of fewer than {LEAST_WORDS} words": count_words(first) + count_words(text) < LEAST_WORDS,
                "post without a first sentence": not text or count_words(first) > LONGEST_OPENING,
            }
            if ledger.keeps(name, faults):
                histories.setdefault(user, []).append(Document(name, text, time, first))
    return _held_back(histories, targets, ledger)


def _blog_time(date: str) -> float | None:
    """The time of a date such as ``14,May,2004``."""
    try:
        return datetime.strptime(date.strip(), "%d,%B,%Y").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _lines(text: str) -> str:
    """Remove blanks at the ends of lines, and keep only one empty line between paragraphs."""
    return re.sub(r"\n{2,}", "\n\n", "\n".join(line.strip() for line in text.strip().splitlines()))


def _aeslc(paths: Sequence[Path], targets: int, ledger: Ledger) -> list[Case]:
    """Read AESLC (Zhang and Tetreault 2019): one file per mail of the Enron corpus, named by owner, folder and number.
    Only mails that the owner sent count; the numbers stand for the time."""
    histories: dict[str, list[Document]] = {}
    for path in paths:
        ledger.read["mails"] += 1
        name = MAIL.fullmatch(path.name)
        body, mark, rest = path.read_text(encoding="utf-8", errors="replace").partition("@subject")
        subject = rest.partition("@")[0].strip()
        faults = {
            "mail that its owner did not send": name is None,
            "mail without @subject": not mark,
            "mail without a text or a subject": not body.strip() or not subject,
        }
        if ledger.keeps(path.name, faults) and name:
            document = Document(path.stem, _lines(body), float(name["number"]) * DAY_S, subject)
            histories.setdefault(name["owner"], []).append(document)
    return _held_back(histories, targets, ledger)


def _histories(paths: Iterable[Path], targets: int, ledger: Ledger) -> list[Case]:
    """Read histories as ``pearl import jsonl`` does; users are joined over files. Times may lie in the future, since
    data sets without times have made-up ones. Raises InputError for a bad line."""
    histories: dict[str, list[Document]] = {}
    for path in paths:
        for user, documents in read_histories(path, timestamp_required=True, now=math.inf).items():
            ledger.read["texts"] += len(documents)
            histories.setdefault(user, []).extend(documents)
    return _held_back(histories, targets, ledger)


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("lamp", "LaMP 4, 5 or 7", ("*_questions.json", "*_outputs.json"), "free", _lamp),
        Benchmark(
            "longlamp", "a task of LongLaMP", ("*.parquet", "*.jsonl", "*.jsonl.gz", "*.json"), "post", _longlamp
        ),
        Benchmark("blogs", "the Blog Authorship Corpus", ("*.xml",), "post", _blogs),
        Benchmark("aeslc", "AESLC's mails", ("*.subject",), "message", _aeslc),
        Benchmark("history", "history files", ("*.jsonl", "*.jsonl.gz"), "free", _histories),
    )
}
