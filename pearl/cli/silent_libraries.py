"""Silences warnings of libraries that report nothing wrong, or nothing that a user could mend."""

from __future__ import annotations

import logging

# logger -> how its messages begin
EXPECTED = {
    # a faster kernel for weights of four bits, to be had from a model hub only; the loading of any model looks for it
    "bitsandbytes.backends.cpu.ops": ("Failed to load CPU gemm_4bit_forward",),
    "transformers.trainer_utils": (
        "The tokenizer has new PAD/BOS/EOS tokens",  # of a base that names none; what is saved has the base's own
        "mtime may not be reliable",  # of checkpoints within a second, which are then told apart by their numbers
    ),
}


def pass_over(record: logging.LogRecord) -> bool:
    """Filter a logger's messages: return False for an expected message, which is then dropped."""
    return not record.getMessage().startswith(EXPECTED[record.name])


def silence_expected() -> None:
    """Drop the expected messages from their loggers; other messages of the same loggers stay."""
    for name in EXPECTED:
        logging.getLogger(name).addFilter(pass_over)
