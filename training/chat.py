"""Fine-tuning of a chat model on conversations, by low-rank adapters (papers/writing-quality-rewards.txt, section 3).

The model learns the last turn of each conversation: a verdict on writing, with or without reasons, or an edit.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import orjson
from pydantic import Field

from pearl import __version__
from pearl.errors import InputError
from pearl.settings import EMBEDDED
from pearl.text.fences import without_role_tokens
from pearl.text.files.whole import file_digest
from pearl.text.history.files import parse_numbered_lines
from retriever.models.files import model_fingerprint, system_errors
from training.config import Positive, Seed, Whole, choice
from training.files import last_checkpoint
from training.progress import train_on

if TYPE_CHECKING:
    from rich.console import Console
    from torch import Tensor

WARM_UP = 0.05  # share of the steps
IGNORED = -100  # the label of a token that is not learned
ROLES = ("system", "user", "assistant")
Turns = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class ChatTraining:
    """The choices of a chat model's training: the size of the adapter, and how it is fitted."""

    rank: Whole = choice(16, "Rank of the adapter's matrices.")
    alpha: Whole = choice(32, "Weight of the adapter, in ranks: alpha / rank.")
    dropout: Annotated[float, Field(ge=0, le=0.9)] = choice(0.05, "Dropout before the adapter.")
    epochs: Whole = choice(3, "Passes over the conversations at most.")
    rate: Positive = choice(2e-4, "Highest learning rate.")
    batch: Whole = choice(1, "Conversations computed at once.")
    accumulate: Whole = choice(8, "Batches before a step.")
    max_tokens: Annotated[int, Field(ge=16)] = choice(2048, "Longest conversation, tokens; longer ones are left out.")
    patience: Whole = choice(1, "Epochs without a lower loss on --dev before it stops.")
    four_bit: bool = choice(False, "Whether to hold the base in weights of four bits while it learns (QLoRA).")
    seed: Seed = choice(0, "Seed of the adapter and of the order.")


def read_conversations(path: Path) -> list[Turns]:
    """Read conversations from JSON Lines, one per line. Raises InputError that names file, line and field."""

    def parse(value: dict[str, Any], number: int) -> Turns:
        turns = value.get("messages")
        if not isinstance(turns, list) or not turns:
            raise InputError("must be a list of turns.", param="messages")
        for turn in turns:
            role, content = (turn.get(name) if isinstance(turn, dict) else None for name in ("role", "content"))
            if role not in ROLES or not isinstance(content, str) or not content.strip():
                raise InputError(f"each turn needs a role ({', '.join(ROLES)}) and content.", param="messages")
        if turns[-1]["role"] != "assistant" or len(turns) < 2:
            raise InputError("the last turn, which is learned, must be the assistant's.", param="messages")
        return [{"role": turn["role"], "content": without_role_tokens(turn["content"])} for turn in turns]

    conversations = list(parse_numbered_lines(path, parse))
    if not conversations:
        raise InputError(f"{path}: there is no conversation in it.")
    return conversations


def load_base(name: str, *, four_bit: bool = False) -> tuple[Any, Any]:
    """Load a chat model and its tokenizer, in float32, or in four bits (NF4) if ``four_bit``. Raises InputError if the
    model cannot be loaded or has no chat template."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    if name == EMBEDDED and four_bit:
        raise InputError(
            "--choose four_bit=yes needs a folder or a hub's name as --base; the embedded file is read whole."
        )
    if name == EMBEDDED:
        from pearl.models.weights.table import embedded_model_file
        from retriever.models.load_auxiliary import load_smollm2

        model, tokenizer = load_smollm2(embedded_model_file(), torch.float32)
    else:
        try:
            loaded = _in_four_bits if four_bit else partial(AutoModelForCausalLM.from_pretrained, dtype=torch.float32)
            model = loaded(name)
            tokenizer = AutoTokenizer.from_pretrained(name)
        except (OSError, ValueError) as error:
            why = str(error).strip().partition("\n")[0]
            raise InputError(f"--base {name}: cannot be loaded: {why}") from error
    if not tokenizer.chat_template:
        raise InputError(f"--base {name}: its tokenizer has no chat template; name a chat model.")
    return model, tokenizer


def _in_four_bits(name: str) -> Any:
    """Load the model in four bits as published (Dettmers et al. 2023, QLoRA, section 3): NormalFloat weights, quantised
    scales, and products in bfloat16."""
    import torch
    from bitsandbytes.nn.modules import Linear4bit
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    held = BitsAndBytesConfig(  # type: ignore[no-untyped-call]
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32, quantization_config=held)
    for layer in model.modules():
        if isinstance(layer, Linear4bit):
            # on some processors the first evaluation packs the weights for reading, and no gradient comes through then
            layer.support_avx512bf16_for_cpu = False
    return model


def encoded(conversations: Sequence[Turns], tokenizer: Any, max_tokens: int) -> tuple[list[dict[str, list[int]]], int]:
    """Tokenize conversations. Returns tokens and labels of conversations that fit ``max_tokens``, and how many do
    not."""
    rows = []
    for turns in conversations:
        asked = tokenizer.apply_chat_template(turns[:-1], add_generation_prompt=True, return_dict=False)
        tokens = tokenizer.apply_chat_template(turns, return_dict=False)
        if tokens[: len(asked)] != asked:
            raise InputError("--base: its chat template changes earlier turns by later ones.")
        if len(tokens) <= max_tokens:
            rows.append({"input_ids": tokens, "labels": [IGNORED] * len(asked) + tokens[len(asked) :]})
    return rows, len(conversations) - len(rows)


def batched(rows: Sequence[dict[str, list[int]]], padding: int) -> dict[str, Tensor]:
    """Pad rows at the end to one length; return tokens, labels and attention mask, (B, T) each."""
    import torch

    longest = max(len(row["input_ids"]) for row in rows)

    def stacked(name: str, filler: int) -> Tensor:
        return torch.tensor([row[name] + [filler] * (longest - len(row[name])) for row in rows])

    mask = [[1] * len(row["input_ids"]) + [0] * (longest - len(row["input_ids"])) for row in rows]
    return {
        "input_ids": stacked("input_ids", padding),
        "labels": stacked("labels", IGNORED),
        "attention_mask": torch.tensor(mask),
    }


def fit_chat(
    base: str,
    train: Sequence[Turns],
    dev: Sequence[Turns],
    options: ChatTraining,
    work: Path,
    out: Path,
    console: Console,
) -> dict[str, Any]:
    """Fine-tune ``base`` by a low-rank adapter, write the merged model and its tokenizer to ``out``, and return the
    figures.

    ``work`` keeps a checkpoint per epoch, from which an interrupted run continues. If ``dev`` is given, the epoch with
    the lowest loss on ``dev`` is kept. Raises InputError if no conversation fits ``max_tokens``.
    """
    from peft import LoraConfig, get_peft_model
    from transformers import EarlyStoppingCallback, PrinterCallback, Trainer, set_seed

    set_seed(options.seed)
    model, tokenizer = load_base(base, four_bit=options.four_bit)
    padding = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    learned, too_long = encoded(train, tokenizer, options.max_tokens)
    held, dev_too_long = encoded(dev, tokenizer, options.max_tokens)
    if not learned or (dev and not held):
        raise InputError(f"no conversation has at most {options.max_tokens} tokens; give a larger max_tokens.")
    made_of = (base, model_fingerprint(base), learned, held, asdict(options))
    # as a whole path, by which checkpoints name the best of them, wherever the command is repeated
    work = (work / hashlib.sha256(orjson.dumps(made_of)).hexdigest()[:12]).resolve()
    work.mkdir(parents=True, exist_ok=True)
    adapter = LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,
        lora_dropout=options.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    with _changed_names():
        adapted: Any = get_peft_model(model, adapter)
    trained = sum(weights.numel() for weights in adapted.parameters() if weights.requires_grad)
    trainer = Trainer(
        model=adapted,
        args=_arguments(options, _epochs(options, work), len(learned), bool(held), work),
        train_dataset=learned,
        eval_dataset=held or None,
        data_collator=lambda rows: batched(rows, padding),
        callbacks=[EarlyStoppingCallback(options.patience)] if held else [],
    )
    trainer.remove_callback(PrinterCallback)
    steps = options.epochs * math.ceil(len(learned) / (options.batch * options.accumulate))
    train_on(trainer, steps, work, "steps", console)
    merged = _merged(adapted, base, work) if options.four_bit else adapted.merge_and_unload()
    with system_errors(out):
        merged.save_pretrained(out)
        tokenizer.save_pretrained(out)
    return {
        "conversations": len(learned),
        "too_long": too_long,
        "dev_conversations": len(held),
        "dev_too_long": dev_too_long,
        "trained_weights": trained,
        # by epoch, for the trainer's own counts from where an interrupted run went on
        "train_loss": round(fmean(row["loss"] for row in trainer.state.log_history if "loss" in row), 6),
        "dev_loss": [round(row["eval_loss"], 6) for row in trainer.state.log_history if "eval_loss" in row],
    }


def write_account(
    out: Path,
    base: str,
    data: Sequence[Path],
    dev: Sequence[Path],
    options: ChatTraining,
    figures: Mapping[str, Any],
) -> dict[str, Any]:
    """Write base, data, options and figures to ``training.json`` in the model's folder, and return them."""
    account = {
        "base": base,
        "base_content": model_fingerprint(base),
        **{
            name: [{"file": path.name, "sha256": file_digest(path)} for path in paths]
            for name, paths in (("data", data), ("dev", dev))
        },
        "options": asdict(options),
        "version": __version__,
        **figures,
    }
    (out / "training.json").write_bytes(orjson.dumps(account, option=orjson.OPT_INDENT_2))
    return account


def _merged(adapted: Any, base: str, work: Path) -> Any:
    """Merge the adapter into the base at full precision: in weights of four bits the adapter would be rounded."""
    from peft import PeftModel

    with system_errors(work):
        adapted.save_pretrained(work / "adapter")
    with _changed_names():
        return PeftModel.from_pretrained(load_base(base)[0], work / "adapter").merge_and_unload()


@contextmanager
def _changed_names() -> Iterator[None]:
    """Suppress the warning that peft asks the model by a name that transformers has changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def _epochs(options: ChatTraining, work: Path) -> int:
    """Return the number of epochs to train for: if an interrupted training had stopped early, which the trainer
    forgets, only the epochs that it had done."""
    from transformers import TrainerState
    from transformers.trainer import TRAINER_STATE_NAME

    last = last_checkpoint(work)
    if last is None:
        return options.epochs
    state = TrainerState.load_from_json(str(Path(last) / TRAINER_STATE_NAME))
    stopped = state.stateful_callbacks["TrainerControl"]["args"]["should_training_stop"]
    return round(state.epoch) if stopped else options.epochs


def _arguments(options: ChatTraining, epochs: int, learned: int, has_dev: bool, work: Path) -> Any:
    """Return the trainer's arguments; ``learned``: number of conversations."""
    from transformers import TrainingArguments

    return TrainingArguments(
        output_dir=str(work),
        num_train_epochs=epochs,
        learning_rate=options.rate,
        lr_scheduler_type="cosine",
        warmup_steps=max(1, math.ceil(WARM_UP * options.epochs * learned / (options.batch * options.accumulate))),
        per_device_train_batch_size=options.batch,
        per_device_eval_batch_size=options.batch,
        gradient_accumulation_steps=options.accumulate,
        save_strategy="epoch",
        save_total_limit=2,
        eval_strategy="epoch" if has_dev else "no",
        load_best_model_at_end=has_dev,
        metric_for_best_model="eval_loss" if has_dev else None,
        greater_is_better=False if has_dev else None,
        logging_strategy="epoch",
        report_to=[],
        disable_tqdm=True,  # its bar writes the losses to standard output
        restore_callback_states_from_checkpoint=True,  # the epochs without a better loss
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        seed=options.seed,
    )
