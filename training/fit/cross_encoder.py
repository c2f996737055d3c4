"""Fitting the cross-encoder with sentence-transformers' trainer and a loss over groups.

Dimensions in comments: B groups of a batch, G documents of a group.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from pearl.errors import InputError
from pearl.records import Document, Request
from pearl.settings import EMBEDDED, MPNET
from retriever.calibrated.head import Floats
from retriever.models.cross_encoder import PairReading
from retriever.models.encoder import encoder_source
from retriever.models.files import saving_tensors
from retriever.models.folder import FIRST_POSITION
from retriever.models.hardware import prefers_bfloat16
from training.data.records import Example
from training.fit.head import Loss
from training.progress import train_on

EVERYTHING = 1_000_000  # tokens, where a base has no window
TRAINED = "trained.safetensors"
LONG = 5.0  # seconds
READING = PairReading(128)


@dataclass(frozen=True, slots=True)
class CrossEncoderOptions:
    """Options of the fit. ``rate``: the highest learning rate; ``batch``: number of groups.

    ``frozen_layers``: how many of the lowest layers are not trained, the word embeddings first. ``repeated``: how often
    a group with true gains is seen for each time that a group with gains by proxy is.
    """

    reading: PairReading = READING
    rate: float = 5e-5
    epochs: int = 1
    batch: int = 16
    frozen_layers: int = 1
    repeated: int = 2
    warmup: float = 0.1
    evaluations: int = 6
    patience: int = 3
    seed: int = 0


@dataclass(frozen=True, slots=True)
class GroupFitting:
    """Training material of a cross-encoder: groups, ``dev`` groups for early stopping, the loss and the options.
    ``seconds``: the time limit, None for no limit."""

    groups: Sequence[Example]
    dev: Sequence[Example]
    loss: Loss
    options: CrossEncoderOptions
    seconds: float | None = None


def new_cross_encoder(base: str, options: CrossEncoderOptions, device: str = "cpu") -> Any:
    """Make a cross-encoder with one logit from a pretrained encoder; its lowest ``frozen_layers`` are not trained."""
    from sentence_transformers import CrossEncoder
    from transformers.utils import logging

    torch.manual_seed(options.seed)
    check_base(base)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # that the last layer is new is as it should be
    try:
        model = CrossEncoder(encoder_source(base), num_labels=1, max_length=options.reading.max_tokens, device=device)
    finally:
        logging.set_verbosity(verbosity)
    frozen = _layers(model.model)[: options.frozen_layers]
    for layer in frozen:
        layer.requires_grad_(False)
    return model


def save_trained(model: Any, folder: Path) -> None:
    """Write the weights that are trained, without the frozen ones, to a file in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: values.detach().contiguous() for name, values in trained_weights(model).items()}
    with saving_tensors(folder / TRAINED) as file:
        save_file(weights, file)


def load_trained(model: Any, folder: Path) -> None:
    """Load weights that ``save_trained`` wrote into a model of the same base and options."""
    weights = trained_weights(model)
    with torch.no_grad():
        for name, values in load_file(folder / TRAINED).items():
            weights[name].copy_(values)


def trained_weights(model: Any) -> dict[str, nn.Parameter]:
    return {name: weights for name, weights in model.model.named_parameters() if weights.requires_grad}


def _layers(model: Any) -> list[nn.Module]:
    """The embeddings of words and the layers above them, the lowest first."""
    above = (module for module in model.base_model.modules() if isinstance(module, nn.ModuleList))
    return [model.get_input_embeddings(), *next(above, ())]


def base_config(base: str) -> Any:
    """Return the configuration of a pretrained model. Raises InputError if it cannot be loaded."""
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(encoder_source(base))
    except (OSError, ValueError) as error:
        why = str(error).strip().partition("\n")[0]
        raise InputError(
            f"The base '{base}' cannot be loaded ({why}); name a transformers model or folder, "
            f"'{EMBEDDED}' or '{MPNET}'."
        ) from error


def window_of(config: Any) -> int:
    """Return the largest number of tokens that a model reads."""
    places = getattr(config, "max_position_embeddings", None) or EVERYTHING
    return int(places) - FIRST_POSITION.get(config.model_type, 0)


def check_base(base: str, frozen_layers: int = 0) -> int:
    """Return the largest number of tokens that the base reads. Raises InputError if it is no encoder, or has fewer
    layers than are to be frozen."""
    config = base_config(base)
    architecture = str((config.architectures or [""])[0])
    if config.is_encoder_decoder or architecture.endswith("ForCausalLM"):
        raise InputError(
            f"The base '{base}' writes texts ({architecture}); name an encoder, such as '{EMBEDDED}' or '{MPNET}'."
        )
    layers = getattr(config, "num_hidden_layers", 0)
    if frozen_layers > 1 + layers:
        raise InputError(
            f"--choose frozen_layers={frozen_layers}: the base '{base}' has its embeddings and {layers} layers above."
        )
    return window_of(config)


def restart(model: Any) -> None:
    """Shrink the last layer's weights to nearly zero, so that logits of an earlier task do not count as scores."""
    with torch.no_grad():
        last_layer(model).weight.mul_(0.01)
        last_layer(model).bias.zero_()


def last_layer(model: Any) -> nn.Linear:
    return [module for module in model.model.modules() if isinstance(module, nn.Linear)][-1]


def logits_of(model: Any, request: Request, documents: Sequence[Document], reading: PairReading) -> Floats:
    """Return the model's logit for each document, (G,)."""
    pairs = [reading.pair(request.text, document) for document in documents]
    logits = model.predict(pairs, show_progress_bar=False, activation_fn=nn.Identity())
    return np.asarray(logits, np.float32).reshape(-1)


class GroupLoss(nn.Module):
    """Computes the loss of a batch of groups. ``inputs`` are the texts: requests, and each request's documents."""

    def __init__(self, model: Any, loss: Loss) -> None:
        super().__init__()
        self.model = model
        self._loss = loss

    def forward(
        self, inputs: list[list[Any]], labels: list[Tensor], prompt: str | None = None, task: str | None = None
    ) -> Tensor:
        from sentence_transformers.util import batch_to_device

        requests, documents = inputs
        sizes = [len(texts) for texts in documents]
        pairs = [(request, text) for request, texts in zip(requests, documents, strict=True) for text in texts]
        device = self.model.device
        flat = self.model(batch_to_device(self.model.preprocess(pairs), device))["scores"].reshape(-1).float()
        logits = _padded(flat.split(sizes), 0.0)  # (B, G)
        gains = _padded([label.float().to(device) for label in labels], 0.0)
        mask = _padded([torch.ones(size, dtype=torch.bool, device=device) for size in sizes], False)
        return self._loss(logits, gains, mask)


def _padded(rows: Sequence[Tensor], value: Any) -> Tensor:
    return nn.utils.rnn.pad_sequence(list(rows), batch_first=True, padding_value=value)


def fit_cross_encoder(model: Any, fitting: GroupFitting, folder: Path) -> dict[str, Any]:
    """Train in place until the epochs or the seconds are over, and keep the weights with the lowest loss on ``dev``.

    Returns a report: steps, losses on dev, seconds, and ``whole``, False if time cut the training short. An interrupted
    run is resumed from ``folder``, which is deleted in the end.
    """
    from transformers import EarlyStoppingCallback, PrinterCallback

    started = time.monotonic()
    groups, options, seconds = fitting.groups, fitting.options, fitting.seconds
    folder.mkdir(parents=True, exist_ok=True)
    module = GroupLoss(model, fitting.loss)
    steps = planned = options.epochs * len(groups) // options.batch or 1
    if seconds is not None:
        each = _seconds_per_step(module, groups, options) * 1.15
        left = started + seconds - time.monotonic()  # timing took some of them
        steps = max(1, min(steps, int(left / each)))
    trainer = _trainer_class()(
        model=model,
        args=_arguments(model.device, options, steps, folder),
        train_dataset=_dataset(groups, options.reading),
        eval_dataset=_dataset(fitting.dev, options.reading),
        loss=module,
        callbacks=[EarlyStoppingCallback(options.patience)],
    )
    trainer.remove_callback(PrinterCallback)  # it writes losses to standard output, which is for figures
    began = time.monotonic()
    first = trainer.evaluate()["eval_loss"]
    if seconds is not None:
        look = time.monotonic() - began
        trainer.add_callback(deadline(started + seconds - look))
    train_on(trainer, steps, folder, "training the cross-encoder", Console(stderr=True))
    shutil.rmtree(folder)
    stopped = any(  # not by the callback given above: after an interruption there is another
        isinstance(callback, EarlyStoppingCallback) and callback.early_stopping_patience_counter >= options.patience
        for callback in trainer.callback_handler.callbacks
    )
    losses = [entry["eval_loss"] for entry in trainer.state.log_history if "eval_loss" in entry]
    return {
        "groups": len(groups),
        "steps": trainer.state.global_step,
        "whole": trainer.state.global_step >= planned or stopped,
        "dev_loss_before": first,
        "dev_losses": losses,
        "seconds": round(time.monotonic() - started, 1),
    }


def _trainer_class() -> Any:
    from sentence_transformers.cross_encoder import CrossEncoderTrainer

    class Trainer(CrossEncoderTrainer):
        """A trainer whose checkpoints hold only the weights that are trained."""

        def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
            save_trained(self.model, Path(str(output_dir)))

        def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
            load_trained(self.model, Path(resume_from_checkpoint))

    return Trainer


def _arguments(device: torch.device, options: CrossEncoderOptions, steps: int, folder: Path) -> Any:
    """Return the trainer's arguments. The trainer evaluates on dev every few steps and keeps the best weights."""
    from sentence_transformers.cross_encoder import CrossEncoderTrainingArguments

    every = max(1, steps // options.evaluations)
    arguments = CrossEncoderTrainingArguments(
        output_dir=str(folder),
        max_steps=steps,
        per_device_train_batch_size=options.batch,
        per_device_eval_batch_size=options.batch,
        learning_rate=options.rate,
        warmup_steps=int(steps * options.warmup),
        bf16=prefers_bfloat16(device.type),
        use_cpu=device.type == "cpu",
        eval_strategy="steps",
        save_strategy="steps",
        eval_steps=every,
        save_steps=every,
        save_total_limit=2,
        logging_steps=every,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        greater_is_better=False,
        seed=options.seed,
        report_to="none",
        disable_tqdm=True,
        restore_callback_states_from_checkpoint=True,  # the looks at dev without a better loss
    )
    place(arguments, device)
    return arguments


def place(arguments: Any, device: torch.device) -> None:
    """Make the trainer use this device alone; otherwise it would use all GPUs."""
    # a model for all of them it would wrap, and of a wrapped one the loss cannot ask the tokenizer
    arguments._n_gpu = min(arguments.n_gpu, 1)
    if device.type == "cuda":
        torch.cuda.set_device(device)
        arguments.__dict__["_setup_devices"] = device  # a cached property; there is no option for it


def deadline(end: float) -> Any:
    """Return a trainer callback that evaluates and stops if another step would end after ``end`` (monotonic clock)."""
    from transformers import TrainerCallback

    class Deadline(TrainerCallback):
        began = 0.0

        def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self.began = time.monotonic()

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            now = time.monotonic()
            if now + (now - self.began) > end:
                control.should_evaluate = control.should_save = control.should_training_stop = True

    return Deadline()


def _dataset(groups: Sequence[Example], reading: PairReading) -> Any:
    from datasets import Dataset

    pairs = [[reading.pair(group.request.text, document) for document in group.documents] for group in groups]
    return Dataset.from_dict(
        {
            "request": [texts[0][0] for texts in pairs],
            "documents": [[text for _, text in texts] for texts in pairs],
            "label": [group.gains.tolist() for group in groups],
        }
    )


def _seconds_per_step(module: GroupLoss, groups: Sequence[Example], options: CrossEncoderOptions) -> float:
    """Measure the seconds of a step: of the second one, after one to warm up, unless the first takes long."""
    seconds = 0.0
    device = module.model.device
    for start in (0, options.batch):
        rows = _dataset(groups[start : start + options.batch] or groups[: options.batch], options.reading)[:]
        began = time.monotonic()
        with torch.autocast(device.type, torch.bfloat16, enabled=prefers_bfloat16(device.type)):
            value = module([rows["request"], rows["documents"]], [torch.tensor(row) for row in rows["label"]])
        value.backward()
        if device.type == "cuda":
            torch.cuda.synchronize(device)  # a GPU is only told what to do
        seconds = time.monotonic() - began
        if seconds > LONG:
            break
    module.zero_grad()
    return seconds
