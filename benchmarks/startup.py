"""How long a person waits for the command line: processor time and the clock, every process started afresh.

The goals are for the processor's time, user and system, which other work on the machine hardly changes; the clock's
stands beside it. A draft has a history of three texts in SQLite and an endpoint that answers at once; the first one
after the import embeds them, a later one does not.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure, Measured, over_repetitions
from benchmarks.processes import PEARL, Finished, mocked, of_mock, run
from pearl.cli.main import COMMANDS

TITLE = "Starting a command"
REPETITIONS, QUICK_REPETITIONS = 3, 1
QUICK_COMMANDS = 1
HELP_S, SUBCOMMAND_HELP_S, WORK_S = 0.3, 0.8, 1.5  # goals
TEXTS = (
    ("Kettle's on. Come by at nine.", "Tomas asks when to come"),
    ("The rear wheel is true again; fetch it whenever you like.", "Is the bike done?"),
    ("Mind the tide, Otti.", "Otti goes out alone"),
)


def measure(quick: bool) -> Measured:
    wanted = QUICK_REPETITIONS if quick else REPETITIONS
    names = list(COMMANDS)[: QUICK_COMMANDS if quick else None]
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        scratch = Path(folder)
        history = scratch / "history.jsonl"
        lines = [
            {"user_id": "me", "id": str(place), "timestamp": 1_700_000_000 + place, "text": text, "request": request}
            for place, (text, request) in enumerate(TEXTS)
        ]
        history.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        nobody = {"PEARL_HOME": str(scratch / "nobody")}
        helps = [run([PEARL, "--help"], nobody) for _ in range(wanted)]
        below = {name: [run([PEARL, name, "--help"], nobody) for _ in range(wanted)] for name in names}
        with mocked(scratch) as mock:
            rounds = [_work(history, scratch / str(number), mock) for number in range(wanted)]
    slowest = max(names, key=lambda name: sorted(each.cpu_s for each in below[name])[wanted // 2])
    figures = (
        *_both("help", "`pearl --help`", helps, HELP_S),
        *_both("slowest_help", f"`pearl {slowest} --help`, the slowest", below[slowest], SUBCOMMAND_HELP_S),
        *_both("import", "`pearl import` of three texts into a new store", [each[0] for each in rounds], WORK_S),
        *_both("import_again", "the same import again", [each[1] for each in rounds], WORK_S),
        *_both("first_draft", "the first `pearl draft`, which embeds the texts", [each[2] for each in rounds], WORK_S),
        *_both("draft", "a later `pearl draft`", [each[3] for each in rounds], WORK_S),
    )
    return Measured(wanted, {"corpus": "three invented texts", "helps": len(names), "documents": len(TEXTS)}, figures)


def _work(history: Path, home: Path, mock: str) -> list[Finished]:
    """An import, the same again, the first draft and a second one, in a home of their own."""
    environment = {"PEARL_HOME": str(home)} | of_mock(mock)
    bring = [PEARL, "import", "jsonl", str(history)]
    write = [PEARL, "draft", "When may I come?"]
    return [run(command, environment) for command in (bring, bring, write, write)]


def _both(name: str, label: str, runs: list[Finished], goal: float) -> tuple[Figure, Figure]:
    return (
        over_repetitions(f"{name}_cpu_s", f"{label}, processor", "s", [each.cpu_s for each in runs], at_most=goal),
        over_repetitions(f"{name}_s", f"{label}, clock", "s", [each.seconds for each in runs]),
    )
