"""Templates that users write."""

from __future__ import annotations

from pathlib import Path

import pytest

from pearl.errors import InputError
from retriever.templates import auxiliary_template

GOOD = """
description = "Letters, with {anything} in braces"
example = "* {text}"
without_document = "{examples} Answer {request}"
with_document = "{document} Answer {request}"
"""


def write(folder: Path, content: str | bytes) -> str:
    path = folder / "mine.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def test_a_template_of_ones_own(tmp_path):
    template = auxiliary_template(write(tmp_path, GOOD))
    assert template.prompt_with("{request}", "Bo") == "{request} Answer Bo"
    assert template.prompt_without("Bo", ("a", "b")) == "* a\n\n* b Answer Bo"
    assert (
        auxiliary_template(write(tmp_path, GOOD.replace("{examples} ", ""))).prompt_without("Bo", ("a",)) == "Answer Bo"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (GOOD.replace('"* {text}"', '"* {text}'), "is not a TOML file in UTF-8"),
        (GOOD.encode() + b"# \xff", "is not a TOML file in UTF-8"),
        ("", "'description' is missing, or not a text"),
        (GOOD.replace('"* {text}"', "3"), "'example' is missing, or not a text"),
        (GOOD.replace("{text}", ""), "'example' lacks the slot {text}"),
        (GOOD.replace("{examples} Answer {request}", "{examples}"), "'without_document' lacks the slot {request}"),
        (GOOD.replace("{document} ", ""), "'with_document' lacks the slot {document}"),
        (
            GOOD.replace("{examples}", "{Request}"),
            "'without_document' has no slot {Request}; there are {examples}, {request}",
        ),
        (
            GOOD.replace("{document} ", "{document} {examples}"),
            "'with_document' has no slot {examples}; there are {document}",
        ),
    ],
)
def test_a_template_that_cannot_be_used_is_refused_before_anything_is_loaded(
    content, said, tmp_path, train, write_lines, writings
):
    file = write(tmp_path, content)
    with pytest.raises(InputError) as caught:
        auxiliary_template(file)
    assert caught.value.message.startswith(f"{file}: {said}")
    history = write_lines(writings(["ann"], documents=9))
    nowhere = tmp_path / "none"
    for step, options in (
        ("score", {"out": tmp_path / "s.parquet"}),
        ("retriever", {"out": tmp_path / "model", "encoder": nowhere}),
    ):
        run = train(step, history=history, choose=f"template={file}", aux=nowhere, **options)
        assert run.status == 2
        assert run.err.splitlines()[-1].startswith(f"pearl: {file}: ")
