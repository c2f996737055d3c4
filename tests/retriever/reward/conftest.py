from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from retriever.models.files import folder_digest
from retriever.reward.artifact import COSINE, ENCODER, HEAD, SCORES, RewardArtifact, ScoreHead, write_reward


def made_head(vector: int, hidden: int = 0, ends: tuple[float, float] = (1, 10)) -> ScoreHead:
    draw = np.random.default_rng(0)
    return ScoreHead(
        mean=draw.normal(size=vector),
        scale=draw.uniform(0.5, 2, vector),
        inner=draw.normal(size=(hidden, vector)) / 4,
        inner_bias=draw.normal(size=hidden),
        outer=draw.normal(size=hidden or vector) / 4,
        bias=draw.normal(size=1),
        ends=np.array(ends, float),
    )


@pytest.fixture
def make_reward(bert_folder, tmp_path) -> Callable[..., Path]:
    """A small reward model, saved; with ``copied`` the encoder stands in its folder."""

    def make(head: ScoreHead | None = None, *, copied: bool = False, **fields: object) -> Path:
        folder = tmp_path / "reward"
        folder.mkdir()
        if head is not None:
            save_file(head.tensors(), folder / HEAD)
        if copied:
            shutil.copytree(bert_folder, folder / ENCODER)
        artifact = RewardArtifact(
            name="small",
            variant="R" if head else "P",
            preset="corrected",
            base=str(bert_folder),
            base_digest=folder_digest(bert_folder),
            layers=(0, 1),
            max_tokens=64,
            pairs=SCORES if head else COSINE,
        )
        write_reward(folder, replace(artifact, **fields))
        return folder

    return make
