"""A cross-encoder trained by several processes: the weights that one would have."""

from __future__ import annotations

import json
import shutil
import socket
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch.multiprocessing import spawn

from tests.training.fit.test_cross_encoder import OPTIONS, groups
from training.fit.cross_encoder import GroupFitting, fit_cross_encoder, logits_of, new_cross_encoder
from training.fit.head import calibrated


def fit(rank: int, processes: int, port: int, base: Path, folder: Path) -> None:
    """Train in this process, one of several, and save the first one's report and weights."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("training.fit.cross_encoder.prefers_bfloat16", lambda device: False)
        torch.set_num_threads(1)
        if processes > 1:
            patch.setenv("LOCAL_RANK", "0")
            address = f"tcp://127.0.0.1:{port}"
            dist.init_process_group("gloo", init_method=address, rank=rank, world_size=processes)
        options = replace(OPTIONS, batch=4, evaluations=3)
        model = new_cross_encoder(str(base), options)
        fitting = GroupFitting(groups(30), groups(12), calibrated(10.0, 5.0), options)
        report = fit_cross_encoder(model, fitting, folder / f"work{rank}")
    scores = [
        score for group in groups(12) for score in logits_of(model, group.request, group.documents, OPTIONS.reading)
    ]
    if rank == 0:
        (folder / f"{processes}.json").write_text(
            json.dumps(report | {"scores": list(map(float, scores))}), encoding="utf-8"
        )


@pytest.mark.slow
def test_two_processes_train_the_model_that_one_does(bert_folder: Path, tmp_path: Path) -> None:
    """Without dropout, whose draws differ: losses and scores to four figures."""
    base = tmp_path / "base"
    shutil.copytree(bert_folder, base)
    still = {"hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}
    config = base / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | still))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    fit(0, 1, port, base, tmp_path)
    spawn(fit, (2, port, base, tmp_path), nprocs=2)
    one, two = (json.loads((tmp_path / f"{processes}.json").read_text()) for processes in (1, 2))
    assert one["steps"] == two["steps"] == 7
    assert two["dev_losses"] == pytest.approx(one["dev_losses"], rel=1e-4)
    assert one["dev_losses"][-1] < 0.9 * one["dev_loss_before"]
    assert two["scores"] == pytest.approx(one["scores"], rel=1e-3, abs=1e-3)
