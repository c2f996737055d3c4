"""The fast path (shared prefixes, padded batches) against one plain forward pass a pair."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

import training.auxiliary as auxiliary
from pearl.errors import InputError
from training.auxiliary import AuxiliaryModel, Group, load_auxiliary

TEXTS = [
    "Kettle's on.",
    "Rule of the bench: measure twice, and then once more because the tape was upside down.",
    "é😀",
]
REQUESTS = ["When?", "A post about spokes and the truing of wheels without a stand"]
TARGETS = ["At ten sharp.", "Item: one wheel, wobbling. " * 3]


def groups_of(model: AuxiliaryModel) -> list[Group]:
    """A group a document, of one, two or all requests."""
    found = []
    for number, text in enumerate(TEXTS):
        pairs = list(zip(REQUESTS, TARGETS, strict=True))[: 1 + number % 2]
        prompts = tuple(
            tuple(model.encode(f"An example:\n{text}\n\nRequest: {request}\nText:\n")) for request, _ in pairs
        )
        found.append(Group(prompts, tuple(tuple(model.encode(target)) for _, target in pairs)))
    return found


def flat(groups: list[Group]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [pair for group in groups for pair in zip(group.prompts, group.targets, strict=True)]


def test_causal_likelihoods_equal_a_plain_forward_pass(causal_folder: Path) -> None:
    model = load_auxiliary(str(causal_folder), dtype="float32")
    groups = groups_of(model)
    plain = AutoModelForCausalLM.from_pretrained(causal_folder, dtype=torch.float32).eval()
    expected = []
    with torch.inference_mode():
        for prompt, target in flat(groups):
            logits = plain(torch.tensor([[*prompt, *target]])).logits[0].log_softmax(-1)
            expected.append(sum(logits[len(prompt) - 1 + step, token].item() for step, token in enumerate(target)))

    found = [likelihood for scored in model.likelihoods(groups) for likelihood in scored]

    assert [likelihood.tokens for likelihood in found] == [len(target) for _, target in flat(groups)]
    assert [likelihood.total for likelihood in found] == pytest.approx(expected, rel=1e-4)
    assert found[0].mean == found[0].total / found[0].tokens


def test_seq2seq_likelihoods_equal_a_plain_forward_pass(seq2seq_folder: Path) -> None:
    model = load_auxiliary(str(seq2seq_folder), dtype="float32")
    groups = groups_of(model)
    plain = AutoModelForSeq2SeqLM.from_pretrained(seq2seq_folder, dtype=torch.float32).eval()
    expected = []
    with torch.inference_mode():
        for prompt, target in flat(groups):
            logits = plain(
                input_ids=torch.tensor([[*prompt, 2]]), decoder_input_ids=torch.tensor([[0, *target[:-1]]])
            ).logits
            steps = logits[0].log_softmax(-1)
            expected.append(sum(steps[step, token].item() for step, token in enumerate(target)))

    found = [likelihood.total for scored in model.likelihoods(groups) for likelihood in scored]

    assert found == pytest.approx(expected, rel=1e-4)


def test_batches_of_any_size_give_the_same_likelihoods(causal_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_auxiliary(str(causal_folder), dtype="float32")
    groups = groups_of(model)
    together = model.likelihoods(groups)
    monkeypatch.setattr(auxiliary, "BATCH_TOKENS", 1)

    apart = model.likelihoods(groups)

    for one, other in zip(together, apart, strict=True):
        assert [likelihood.total for likelihood in one] == pytest.approx(
            [likelihood.total for likelihood in other], rel=1e-4
        )


@pytest.mark.parametrize(
    ("prompts", "shared"),
    [
        (((1, 2, 3), (1, 2, 4)), 2),
        (((1, 2), (1, 2, 3)), 1),  # a token of each prompt stays outside, for the target hangs on it
        (((5,),), 0),
        (((1, 2, 3),), 2),
        (((1, 2), (3, 4)), 0),
    ],
)
def test_what_prompts_share(prompts: tuple[tuple[int, ...], ...], shared: int) -> None:
    assert Group(prompts, tuple((9,) for _ in prompts)).shared() == shared


def test_an_unknown_model_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be loaded"):
        load_auxiliary(str(tmp_path))


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is there")
def test_a_gpu_asked_for_where_there_is_none() -> None:
    with pytest.raises(InputError, match="--device cuda"):
        load_auxiliary("embedded", device="cuda")


def test_the_embedded_model_agrees_with_an_independent_script(shared: Path) -> None:
    """Same prompts and truncations, another script: git_gains_sample.jsonl.gz, here its first requests."""
    prompts = json.loads((shared / "data/commits/git_gains_prompts.json").read_text())
    with gzip.open(shared / "data/commits/git_gains_sample.jsonl.gz", "rt") as lines:
        records = [json.loads(line) for _, line in zip(range(3), lines, strict=False)]
    model = load_auxiliary("embedded")
    ours, theirs = [], []
    for record in records:
        target = tuple(model.encode(record["target"], 128))

        def prompt(name: str, document: str = "", request: str = record["request"]) -> tuple[int, ...]:
            return tuple(model.encode(prompts[name].replace("{d}", document).replace("{q}", request)))

        texts = [model.decode(model.encode(document["text"], 160)) for document in record["documents"]]
        groups = [Group((prompt("with_document", text),), (target,)) for text in texts]
        (without,) = model.likelihoods([Group((prompt("without_document"),), (target,))])[0]
        ours += [scored[0].total - without.total for scored in model.likelihoods(groups)]
        theirs += record["gain"]

    assert np.corrcoef(ours, theirs)[0, 1] > 0.99
