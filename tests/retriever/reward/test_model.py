"""Scores and preferences, against the same model under torch."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from pearl.errors import InputError
from retriever.reward.artifact import HEAD, MANIFEST, ScoreHead
from retriever.reward.model import RewardModel
from retriever.reward.vectors import TorchVectors
from tests.retriever.reward.conftest import made_head

TEXTS = [
    "The kettle sang, and nobody came.",
    "x",
    "Rain on the tin roof. " * 40,
    "🍞🥖🧂",
    "naïve café, Ångström ﬁne",
    "a\tb\n\nc\x00d\x07",
]
TOLERANCE = 0.05  # points of a score: what bfloat16 may change


@pytest.mark.parametrize("head", [made_head(32), made_head(32, 8, (0, 10))], ids=["linear", "mlp"])
def test_scores_are_those_of_torch(make_reward, bert_folder, head):
    found = RewardModel.load(make_reward(head)).score(TEXTS)
    wanted = head.scores(TorchVectors(bert_folder, (0, 1), 64).of(TEXTS))
    assert found.dtype == np.float64
    assert found == pytest.approx(wanted, abs=TOLERANCE)
    assert found.min() >= 1
    assert found.max() <= 10
    assert np.ptp(wanted) > 10 * TOLERANCE  # else any model would pass


def test_a_score_does_not_depend_on_a_texts_company(make_reward):
    model = RewardModel.load(make_reward(made_head(32), copied=True))
    together = model.score(TEXTS)
    assert [model.score([text])[0] for text in TEXTS] == pytest.approx(together, abs=1e-6)
    assert len(model.score([])) == 0


def test_threads_share_a_model(make_reward):
    model = RewardModel.load(make_reward(made_head(32)))
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.append(model.score(TEXTS)[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == pytest.approx([found[0]] * 4, abs=1e-6)


def test_pairs_are_decided_by_scores_or_by_the_cosine(make_reward, bert_folder):
    first, second = TEXTS[:3], TEXTS[3:]
    model = RewardModel.load(make_reward())
    found = model.prefer(first, second)
    vectors = TorchVectors(bert_folder, (-1,), 64).of_pairs(list(zip(first, second, strict=True)))
    one, two = vectors[:, :16], vectors[:, 16:]
    cosines = (one * two).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(two, axis=1)
    assert found == pytest.approx(np.clip(cosines, 1e-7, 1) - 0.5, abs=0.01)
    assert not model.scores_paragraphs
    with pytest.raises(InputError, match="gives no scores; name a model trained with --variant R or PR"):
        model.score(first)


def test_a_cosine_of_one_half_is_for_the_second_text_as_published(make_reward, monkeypatch):
    half = SimpleNamespace(of_pairs=lambda pairs: np.array([[1.0, 0, 0, 0, 1, 1, 1, 1]] * len(pairs)))
    monkeypatch.setattr("retriever.reward.model.pair_vectors", lambda *_: half)
    assert RewardModel.load(make_reward()).prefer(["one"], ["other"])[0] < 0


def test_preference_by_scores_is_their_difference(make_reward):
    model = RewardModel.load(make_reward(made_head(32)))
    scores = model.score(TEXTS)
    assert model.prefer(TEXTS[:3], TEXTS[3:]) == pytest.approx(scores[:3] - scores[3:], abs=1e-6)
    assert model.prefer(TEXTS[:1], TEXTS[:1]) == [0]


def test_an_empty_paragraph_is_named(make_reward):
    model = RewardModel.load(make_reward(made_head(32)))
    with pytest.raises(InputError, match=r"paragraph 2 of 2 is empty"):
        model.score(["fine", " \n"])


def test_a_head_by_hand():
    head = ScoreHead(
        mean=np.array([1.0, 0.0]),
        scale=np.array([2.0, 1.0]),
        inner=np.zeros((0, 2)),
        inner_bias=np.zeros(0),
        outer=np.array([1.0, -1.0]),
        bias=np.array([0.5]),
        ends=np.array([1.0, 10.0]),
    )
    # (3 - 1) / 2 - 1 + .5 = .5
    assert head.scores(np.array([[3.0, 1.0]])) == pytest.approx([1 + 9 / (1 + np.exp(-0.5))])
    assert head.scores(np.array([[1e9, 0.0], [-1e9, 0.0]])) == pytest.approx([10, 1])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (HEAD, b"changed", f"'{HEAD}' is not the one it was made with"),
        (HEAD, None, f"'{HEAD}' is missing"),
        ("encoder/model.safetensors", b"changed", "'encoder/model.safetensors' is not the one it was made with"),
        ("more.txt", b"x", r"'more\.txt' does not belong to it"),
        (MANIFEST, None, "is not a reward model"),
        (MANIFEST, b"{", "cannot be read"),
        (MANIFEST, b"[]", "format is not 1"),
        (MANIFEST, b'{"kind": "retriever", "format": 1}', "holds another artifact"),
        (MANIFEST, b'{"kind": "reward", "format": 0}', "format is not 1"),
        (MANIFEST, b'{"kind": "reward", "format": 1, "layers": [1]}', "does not have the fields"),
    ],
)
def test_a_folder_that_cannot_be_used(make_reward, name, content, message):
    folder = make_reward(made_head(32), copied=True)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        RewardModel.load(folder)
    assert caught.value.exit_status == 2


def test_another_base(make_reward):
    with pytest.raises(InputError, match="trained on another encoder"):
        RewardModel.load(make_reward(made_head(32), base_digest="0" * 64))


DRAFT = (
    "As golden light bathed the kitchen, Mara felt a deep sense of longing wash over her, a tapestry of memories "
    "weaving itself into the silence. The kettle's whisper was a testament to the mornings they had shared, each "
    "one a delicate dance between hope and loss, and somehow she knew that nothing would ever be the same."
)
EDITED = (
    "Mara put the kettle on. Two cups; then she put one back. He used to stand there by the window, complaining about "
    "the neighbours' dog. The dog was still barking. She let the water boil dry."
)


def test_it_prefers_what_a_writer_would_leave():
    model = RewardModel.load("embedded")
    draft, edited = model.score([DRAFT, EDITED])
    assert 1 <= draft < edited <= 10
    assert model.prefer([DRAFT], [EDITED])[0] < 0 < model.prefer([EDITED], [DRAFT])[0]
    assert model.artifact.variant == "PR"


def test_no_rule_of_length_is_better_on_the_other_kinds_that_it_was_held_against():
    artifact = RewardModel.load("embedded").artifact
    assert artifact.may_ship
    kinds = artifact.figures["other_kinds"]
    assert len(kinds) == 5
    for kind in kinds:
        for part in (kind["all_pairs"], kind["equal_length"]):
            assert part["accuracy"]["value"] >= max(part["baselines"].values())
