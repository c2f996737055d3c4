"""The generated pages are what the code and the result files say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from pearl.cli.options import write_json
from service.http.api.draft_form import NoteOut

ROOT = Path(__file__).parents[1]


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"run 'make docs':\n{done.stdout}{done.stderr}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_pages_lead_somewhere() -> None:
    pages = [page for part in (".", "docs", "benchmarks") for page in sorted((ROOT / part).glob("*.md"))]
    for page in pages:
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)#?([^)\s:]*)\)", page.read_text(encoding="utf-8")):
            to = page.parent / target if target else page
            assert to.exists(), f"{page.name} links to {target}"
            assert not anchor or anchor in anchors(to), f"{page.name} links to {target}#{anchor}"


def test_each_promise_of_security_names_its_test() -> None:
    rows = re.findall(r"^\| .* \| `(tests/\S+)` \|$", (ROOT / "SECURITY.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) >= 10
    assert all((ROOT / name).exists() for name in rows)


def test_result_files_are_as_the_commands_write_them(tmp_path: Path) -> None:
    """Compact, so that a change of one figure is a change of one line."""
    files = list((ROOT / "docs" / "results").glob("*.json"))
    for file in files:
        write_json(str(tmp_path / file.name), json.loads(file.read_text(encoding="utf-8")))
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name
    assert sum(file.stat().st_size for file in files) < 900_000


def test_every_note_is_explained() -> None:
    codes = re.findall(r"`(\w+)`", NoteOut.model_fields["code"].description or "")
    page = (ROOT / "docs" / "drafting.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \|$", page.partition("\n## Notes\n")[2], flags=re.MULTILINE)
    assert "generic" in codes
    assert set(codes) <= set(rows)


def test_every_row_of_every_paper_has_a_state() -> None:
    page = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
    _, *parts = page.split("\n## ")
    rows = [re.findall(r"^\| (\d+) \| [^|]+ \| (\w+) \|", part, flags=re.MULTILINE) for part in parts]
    # as many as shared/features.md counts: training, evaluation, style, quality, personalised, forensics
    assert [[int(number) for number, _ in of_paper] for of_paper in rows] == [
        list(range(1, last + 1)) for last in (13, 7, 19, 13, 14, 12)
    ]
    assert {state for of_paper in rows for _, state in of_paper} <= {"works", "partly", "missing"}
