"""The perplexity of texts under the embedded model, kept by digest of the text: a second run loads no model."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing

from rich.console import Console

from pearl.asking.progress import watched
from pearl.chat.embedded import embedded_model_file
from pearl.errors import StoreError
from pearl.private_files import private_file, private_folder
from pearl.settings import EMBEDDED, load_settings

TOKENS = 512  # of a text
PROMPT = "A paragraph:\n\n"
STORE = "losses.sqlite"  # in PEARL_HOME
TABLE = "CREATE TABLE IF NOT EXISTS losses (key BLOB PRIMARY KEY, loss REAL NOT NULL) WITHOUT ROWID"
TOGETHER = 32  # texts between two commits


def perplexity(texts: Sequence[str]) -> list[float]:
    """The loss of each text per token, in nats, over its first TOKENS tokens.

    Raises ChatError if the embedded model is not installed, StoreError if the losses cannot be kept.
    """
    file = embedded_model_file()
    made_of = [file.name, file.stat().st_size, PROMPT, TOKENS]
    keys = {text: hashlib.sha256(json.dumps([*made_of, text]).encode()).digest() for text in texts}
    store = load_settings().home / STORE
    try:
        private_folder(store.parent)
        private_file(store)
        with closing(sqlite3.connect(store, timeout=10.0)) as connection:
            connection.execute(TABLE)
            kept = "SELECT loss FROM losses WHERE key = ?"
            losses = {text: loss for text, key in keys.items() for (loss,) in connection.execute(kept, (key,))}
            missing = [text for text in keys if text not in losses]
            if missing:
                losses |= _computed(missing, keys, connection)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{store}: losses cannot be kept there: {error}; set PEARL_HOME to another folder.") from error
    return [losses[text] for text in texts]


def _computed(texts: Sequence[str], keys: dict[str, bytes], connection: sqlite3.Connection) -> dict[str, float]:
    """The losses by one load of the model, each kept soon after it is known."""
    from retriever.models.auxiliary import Group, load_auxiliary

    model = load_auxiliary(EMBEDDED)
    prompt = (tuple(model.encode(PROMPT)),)
    losses: dict[str, float] = {}
    with watched(Console(stderr=True)) as watch:
        line = watch("perplexity", len(texts))
        for start in range(0, len(texts), TOGETHER):
            some = texts[start : start + TOGETHER]
            groups = [Group(prompt, (tuple(model.encode(text, TOKENS)),)) for text in some]
            for text, (likelihood,) in zip(some, model.likelihoods(groups), strict=True):
                losses[text] = -likelihood.mean
                line.advance()
            with connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO losses VALUES (?, ?)", [(keys[text], losses[text]) for text in some]
                )
    return losses
