"""Cross-encoders on disk: in the working folder, where the next run finds them, and in an artifact."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pearl.text.files.whole import replaced_file
from retriever.models.quantized import write_weights
from training.data.records import Example
from training.fit.cross_encoder import GroupFitting, fit_cross_encoder, load_trained, save_trained

WORTH_MORE = 1.5  # times as much time as it had before: then a training that was cut short is done again


@dataclass(frozen=True, slots=True)
class CrossEncoderFit:
    """A fitted cross-encoder, and a report of its training, as JSON values."""

    model: Any
    report: dict[str, Any]


def kept_or_fitted(model: Any, fitting: GroupFitting, folder: Path, made_of: Mapping[str, Any]) -> CrossEncoderFit:
    """Load the weights kept in ``folder``, if they are from the same training and it had enough time; otherwise train
    the model and keep its weights there. ``made_of``: everything that the training depends on."""
    file = folder / "report.json"
    before: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if before.get("made_of") == made_of and _enough(before, fitting.seconds):
        load_trained(model, folder)
        return CrossEncoderFit(model, before)
    # by what it is made of, so that only an interrupted training of the same is gone on with
    checkpoints = hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:12]
    trained = copy.deepcopy(model)
    report = fit_cross_encoder(trained, fitting, folder / "checkpoints" / checkpoints) | {"made_of": made_of}
    file.unlink(missing_ok=True)
    save_trained(trained, folder)
    # as the next run will: the trainer leaves its precision and special tokens on a model, which an artifact would say
    load_trained(model, folder)
    with replaced_file(file) as partial:  # last: it says that all is there
        partial.write_text(json.dumps(report), encoding="utf-8")
    return CrossEncoderFit(model, report)


def _enough(before: Mapping[str, Any], seconds: float | None) -> bool:
    """True if the kept training was complete, or there is not much more time now than it had."""
    return bool(before.get("whole")) or (seconds is not None and seconds < WORTH_MORE * before["seconds"])


def digest_of_texts(groups: Sequence[Example]) -> str:
    texts = [[group.request.text, *(document.text for document in group.documents)] for group in groups]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def digest_of_weights(model: Any) -> str:
    digest = hashlib.sha256()
    for name, tensor in model.model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().float().cpu().numpy().tobytes())
    return digest.hexdigest()


def save_cross_encoder(model: Any, folder: Path) -> None:
    """Write weights, configuration and tokenizer as ``retriever.models.cross_encoder`` reads them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.model.config.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    write_weights(model.model.state_dict(), folder / "model.safetensors")
