from __future__ import annotations

import logging

from pearl.cli.silent_libraries import silence_expected


def test_only_the_messages_that_are_expected_are_left_out(caplog):
    """By whole messages as bitsandbytes and transformers write them; a repeated call changes nothing."""
    silence_expected()
    silence_expected()
    trainer, kernels = map(logging.getLogger, ("transformers.trainer_utils", "bitsandbytes.backends.cpu.ops"))
    for logger in (trainer, kernels):
        logger.addHandler(caplog.handler)  # that of transformers hands nothing on
    try:
        kernels.warning("Failed to load CPU gemm_4bit_forward from kernels-community: %s. Please", "no module")
        trainer.warning("The tokenizer has new PAD/BOS/EOS tokens that differ from the model config and generation")
        trainer.warning("mtime may not be reliable on this filesystem, falling back to numerical ordering")
        trainer.warning("Could not find a checkpoint")
        kernels.warning("Failed to load the library")
    finally:
        for logger in (trainer, kernels):
            logger.removeHandler(caplog.handler)
    assert {record.getMessage() for record in caplog.records} == {
        "Could not find a checkpoint",
        "Failed to load the library",
    }
