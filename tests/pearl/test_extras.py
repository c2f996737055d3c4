"""Commands without the extra that they need. tests/deploy/test_locks.py holds the extras against pyproject.toml."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pearl.extras import EXTRAS, missing_extra

ROOT = Path(__file__).parents[2]


# only the base is installed, as far as this process knows
WITHOUT_EXTRAS = f"""
import sys
sys.modules.update(dict.fromkeys({sorted({module for modules in EXTRAS.values() for module in modules})}))
from pearl.cli.main import main
main()
"""


def run_without_extras(*words: object) -> subprocess.CompletedProcess[str]:
    """A process of its own: in this one, other tests have imported what is not to be there."""
    command = [sys.executable, "-c", WITHOUT_EXTRAS, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.parametrize(
    ("words", "module", "extra"),
    [
        (["train", "retriever", "--history", "H", "--out", "model"], "torch", "train"),
        (["train", "score", "--history", "H", "--out", "scores"], "torch", "train"),
        (["eval", "style", "--judgements", "H", "--json", "-"], "scipy", "eval"),
        (["eval", "retrieval", "--gains", "G", "--model", "likelihood", "--json", "-"], "torch", "eval"),
        (["mail", "watch", "ann@example.org", "--host", "imap.example.org"], "imapclient", "mail"),
        # before the work: before the file, which is not there, is read
        (["eval", "calibration", "--gains", "nothing", "--model", "bm25", "--picture", "p.svg"], "matplotlib", "eval"),
    ],
)
def test_a_command_without_its_extra_names_it_in_one_line(words, module, extra, tmp_path):
    history = tmp_path / "history.jsonl"
    text = {"text": "Tea at nine.", "request": "When?"}
    lines = (json.dumps({"user_id": f"u{n % 3}", "id": str(n), "timestamp": n, **text}) for n in range(90))
    history.write_text("\n".join(lines))
    gains = tmp_path / "gains.jsonl"
    gains.write_text(json.dumps({"request": "When?", "documents": [text, text], "gain": [1.0, 2.0]}))
    files = {"H": history, "G": gains}
    run = run_without_extras(*(files.get(word, word) for word in words))
    assert (run.returncode, run.stdout) == (2, "")
    said = run.stderr.splitlines()[-1]
    assert said.startswith(f"pearl: This needs {module}")
    assert said.endswith(f"which is not installed: pip install 'pearl-writing[{extra}]'")
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("words", ["train", "train retriever", "eval", "eval generation", "judge", "judge authorship"])
def test_help_needs_no_extra(words):
    run = run_without_extras(*words.split(), "--help")
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("torch", "training", "train"),
        ("torch.nn", "eval", "eval"),
        ("psycopg", "service", "postgres"),
        ("redis", "", "redis"),
        ("keyring", "service", "mail"),
    ],
)
def test_the_extra_of_a_module(module, package, extra):
    error = missing_extra(module, package)
    assert error is not None
    assert error.message.endswith(f"pip install 'pearl-writing[{extra}]'")
    assert error.code == "missing_extra"


def test_another_module_is_of_no_extra():
    assert missing_extra("pearl_postcards") is None
