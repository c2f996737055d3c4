"""How a person writes the subjects of commits, and what becomes of a model's."""

from __future__ import annotations

import pytest

from pearl.style.manner.subjects import MessageForm

AREAS = [f"tide: add gauge {number}\n\nIt was not there." for number in range(9)]
AREAS += ["rails: mend it\n\nThey broke.", "rails: drop the third\n\nIt is gone."]
MADE_UP = "Signed-off-by: Jo Doe <jo@d.example>\nChange-Id: I1"
PLAIN = [f"Add gauge {number}." for number in range(9)]


@pytest.mark.parametrize(
    ("messages", "message", "paths", "mended"),
    [
        (AREAS, "Add a gauge.", "src/tide/gauge.py", "tide: add a gauge"),  # the path says which area it is
        (AREAS, "Mend rail 3", "rails.c", "rails: mend rail 3"),
        (AREAS, "Otti mends it", "rails.c", "rails: Otti mends it"),  # a name keeps its capital
        (AREAS, "Add a gauge", "docs/index.md", "add a gauge"),  # no known area: none is made up
        (AREAS, "docs: Add a page", "docs/index.md", "docs: add a page"),
        (AREAS, "tide: README is new", "README", "tide: README is new"),
        (AREAS, f"tide: add it\n\nWhy.\n\n{MADE_UP}", "tide", "tide: add it\n\nWhy."),
        (AREAS, "tide: add...", "tide", "tide: add..."),
        (PLAIN, "feat(tide): add a gauge\n\nIt is new.", "tide/gauge.py", "Add a gauge."),  # no prefixes, no body
        (PLAIN, "git-gauge: it", "tide", "It."),
        (PLAIN, "gauge_all() is new", "tide", "gauge_all() is new."),  # an identifier stays
        ([*AREAS[:3], *PLAIN[:3]], "fix: add it.\n\nWhy.", "tide", "fix: add it.\n\nWhy."),  # no habit
        (PLAIN[:4], "fix: add it", "tide", "fix: add it"),  # too few
        (AREAS, "", "tide", ""),
    ],
)
def test_a_models_message_is_brought_into_the_persons_form(messages, message, paths, mended):
    assert MessageForm.of(messages).mended(message, f"{paths}\n\n3 lines added") == mended
