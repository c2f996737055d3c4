"""BERTScore of drafts: how similar a draft's tokens are to those of the text that the person really wrote.

The values are those of the library ``bert-score`` without rescaling. Compare only values of the same encoder.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from pearl.extras import MissingExtra
from pearl.settings import EMBEDDED
from retriever.models.encoder import NAMES, encoder_source, unusable_encoder

KIND = "a bidirectional model of transformers, its folder"
BATCH = 16  # texts
DIGITS = 6  # a text's neighbours in a batch change only later digits


class BertScore:
    """BERTScore F1 (Zhang et al. 2020): each token is matched with the most similar token of the other text.

    Texts are cut at the encoder's window. ``model``: ``embedded``, ``mpnet``, or an encoder's name or folder. If the
    library knows no best layer for an encoder, the last layer is used.
    """

    def __init__(self, model: str = EMBEDDED) -> None:
        self._model = model

    @property
    def _parts(self) -> tuple[Any, Any, int]:
        """The encoder, its tokenizer, and the number of the layer whose output is compared."""
        try:
            return _loaded(encoder_source(self._model))
        except (OSError, ValueError, AttributeError) as error:
            raise unusable_encoder(self._model, "be loaded for BERTScore", error, KIND, "bertscore") from error

    def check(self) -> None:
        """Check early that the encoder can be used. A packaged encoder is only looked for; any other is loaded and
        tried. Raises InputError."""
        if self._model in NAMES:
            if find_spec("bert_score") is None:
                raise MissingExtra("bert_score", "eval")
            encoder_source(self._model)
            return
        try:
            self._f1(["a"], ["a"])
        except (ValueError, TypeError, AttributeError) as error:  # a model of T5's kind wants a decoder's input, too
            raise unusable_encoder(self._model, "compare texts for BERTScore", error, KIND, "bertscore") from error

    @property
    def description(self) -> dict[str, object]:
        """Return what the scores depend on: the model, the layer, and that they are not rescaled."""
        name = NAMES.get(self._model, self._model)
        return {"model": name, "layer": self._parts[2], "rescaled": False}

    def scores(self, targets: Sequence[str], drafts: Sequence[str]) -> list[float]:
        """Return the BERTScore F1 of each pair of a target and a draft; 0 if either text is blank."""
        scores = [0.0] * len(targets)
        filled = [index for index in range(len(targets)) if targets[index].strip() and drafts[index].strip()]
        if filled:
            alike = self._f1([targets[index] for index in filled], [drafts[index] for index in filled])
            for index, score in zip(filled, alike, strict=True):
                scores[index] = round(score, DIGITS)
        return scores

    def _f1(self, targets: list[str], drafts: list[str]) -> list[float]:
        from bert_score.utils import bert_cos_score_idf

        encoder, tokenizer, _ = self._parts
        window = getattr(encoder.config, "max_position_embeddings", None)
        if window and tokenizer.model_max_length > window:
            # saved without its length it does not cut; models of RoBERTa's kind keep two positions for padding
            tokenizer.model_max_length = window - 2
        weights: defaultdict[int, float] = defaultdict(lambda: 1.0)
        weights |= {tokenizer.sep_token_id: 0.0, tokenizer.cls_token_id: 0.0}
        both = bert_cos_score_idf(encoder, targets, drafts, tokenizer, weights, device="cpu", batch_size=BATCH)
        return [float(f1) for _, _, f1 in both.tolist()]


@cache
def _loaded(source: str) -> tuple[Any, Any, int]:
    """Load an encoder, its tokenizer and the number of the layer to compare, once per process."""
    from bert_score.utils import get_model, get_tokenizer, model2layers
    from transformers import AutoModel
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    known = model2layers.get(source)
    # get_model takes every path with "t5" in it for a T5
    encoder = get_model(source, known) if known else AutoModel.from_pretrained(source).eval()
    return encoder, get_tokenizer(source, True), known or int(encoder.config.num_hidden_layers)
