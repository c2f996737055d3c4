from __future__ import annotations

import pytest

from pearl.templates import load_template
from training.finish import draft_template


@pytest.mark.parametrize(
    ("trained", "drafted"), [("commit", "commit"), ("post", "post"), ("comment", "message"), ("my/own.toml", "free")]
)
def test_drafts_of_what_was_trained_on(trained: str, drafted: str) -> None:
    assert draft_template(trained) == drafted
    assert load_template(drafted)
