"""Opening a folder with a BERT or MPNet model for the runtime; other architectures are run by torch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from retriever.models.quantized import MappedWeights

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FIRST_POSITION = {"bert": 0, "mpnet": 2}
# transformers builds the normalizer of these anew, from tokenizer_config.json, and takes the others' as it was saved
WORD_PIECES = {"BertTokenizer", "BertTokenizerFast", "MPNetTokenizer", "MPNetTokenizerFast"}
AS_SAVED = {"TokenizersBackend", "PreTrainedTokenizerFast"}
# what may stand in sentence_bert_config.json
SENTENCE_OPTIONS = {"max_seq_length", "do_lower_case", "transformer_task", "modality_config", "module_output_name"}
# Lengths are rounded up to it: each new one costs a runtime a megabyte and milliseconds, for its code is made anew.
# With SHORT_STEP up to STEP requests take a third less time, and the service some 6 MiB more.
STEP, SHORT_STEP = 32, 8  # tokens

Texts = tuple[str, ...]  # what is read together: one text, or a request and a document
Ids = NDArray[np.int32]  # a text's tokens


@dataclass(frozen=True, slots=True)
class TokenTemplate:
    """The special tokens that a tokenizer puts around one text or two."""

    specials: tuple[Ids, ...]  # before, between and behind the texts
    special_types: tuple[Ids, ...]  # types of the special tokens
    types: tuple[int, ...]  # type of each text's tokens

    @classmethod
    def of(cls, tokenizer: Tokenizer, *texts: str) -> TokenTemplate:
        """Derive the template from how a tokenizer encodes these texts. Raises ValueError if a text gets no tokens."""
        first, second = (*texts, None)[:2]
        encoded = tokenizer.encode(first, second)
        ids, types = np.array(encoded.ids, np.int32), np.array(encoded.type_ids, np.int32)
        text_of = np.array([-1 if text is None else text for text in encoded.sequence_ids])  # -1 for special tokens
        positions = [np.flatnonzero(text_of == text) for text in range(len(texts))]  # of each text's tokens
        if not all(map(len, positions)):
            raise ValueError("the tokenizer gives no token for a letter")
        # from the end of one text to the beginning of the next, and to both ends
        starts = [0, *(int(of_text[-1]) + 1 for of_text in positions)]
        ends = [*(int(of_text[0]) for of_text in positions), len(ids)]
        between = [slice(start, end) for start, end in zip(starts, ends, strict=True)]
        return cls(
            tuple(ids[gap] for gap in between),
            tuple(types[gap] for gap in between),
            tuple(int(types[of_text[0]]) for of_text in positions),
        )

    def filled(self, texts: Sequence[Ids], longest: int) -> tuple[Ids, Ids]:
        """Return the token ids and types of the texts with special tokens. Above ``longest`` tokens, the longer text is
        cut at its end."""
        lengths = _shortened([len(text) for text in texts], longest - sum(map(len, self.specials)))
        ids, types = [self.specials[0]], [self.special_types[0]]
        for index, (text, length) in enumerate(zip(texts, lengths, strict=True)):
            ids += [text[:length], self.specials[index + 1]]
            types += [np.full(length, self.types[index], np.int32), self.special_types[index + 1]]
        return np.concatenate(ids), np.concatenate(types)


def _shortened(lengths: list[int], room: int) -> list[int]:
    """Shorten two lengths to fit into ``room``, always the longer one first (``longest_first``)."""
    if sum(lengths) <= room:
        return lengths
    if len(lengths) == 1:
        return [room]
    first, second = lengths
    shorter = min(first, second, room // 2)
    return [shorter, room - shorter] if first <= second else [room - shorter, shorter]


LETTERS = 64  # of a text for each token that fits; words are far shorter


@dataclass(frozen=True, slots=True)
class BertFolder:
    """An opened model folder: configuration, weights, tokenizer, and templates of special tokens."""

    config: dict[str, Any]
    weights: MappedWeights
    tokenizer: Tokenizer
    templates: tuple[TokenTemplate, TokenTemplate]  # of one text, and of two
    longest: int  # tokens of an input
    typed: bool  # True if the second text's tokens have another type

    def ids(self, text: str) -> Ids:
        """Tokenise a text without special tokens. The result may exceed the window, but not by far: very long texts are
        cut first, because tokenizing a megabyte takes seconds."""
        return np.array(self.tokenizer.encode(text[: self.longest * LETTERS], add_special_tokens=False).ids, np.int32)

    def reads(self, text: str) -> bool:
        """False if no word of the text, nor part of a word, is in the vocabulary."""
        tokens = self.tokenizer.encode(text[: self.longest * LETTERS], add_special_tokens=False).tokens
        unknown = getattr(self.tokenizer.model, "unk_token", None)
        words = (token for token in tokens if token != unknown and any(map(str.isalpha, token)))
        return unknown not in tokens or any(words)

    def tokens(self, texts: Sequence[Ids]) -> NDArray[np.int32]:
        """Return the model's input for one text or two, (3, T): ids, types and mask, padded to a multiple of
        STEP, or of SHORT_STEP."""
        ids, types = self.templates[len(texts) - 1].filled(texts, self.longest)
        length = len(ids) or 1  # where the tokenizer adds nothing to an empty text
        step = STEP if length > STEP else SHORT_STEP
        tokens = np.zeros((3, min(-(-length // step) * step, self.longest)), np.int32)
        tokens[0] = self.config.get("pad_token_id") or 0
        tokens[0, : len(ids)] = ids
        if self.typed:
            tokens[1, : len(ids)] = types
        tokens[2, :length] = 1
        return tokens


class PairFolder(BertFolder):
    """A model folder for two texts read together. The mask is 1 in the first, 2 in the second, 3 in special tokens."""

    def tokens(self, texts: Sequence[Ids]) -> NDArray[np.int32]:
        """Return the model's input for two texts, (3, T): ids, types and mask."""
        tokens = BertFolder.tokens(self, texts)
        specials = [len(special) for special in self.templates[1].specials]
        lengths = _shortened([len(text) for text in texts], self.longest - sum(specials))
        marks = np.repeat([3, 1, 3, 2, 3], [specials[0], lengths[0], specials[1], lengths[1], specials[2]])
        tokens[2, : len(marks)] = marks
        return tokens


def model_folder(folder: Path, max_tokens: int | None = None) -> BertFolder | None:
    """Open a model's folder; None if it is damaged or if the runtime does not support its model exactly.
    ``max_tokens``: the input's limit, None: the tokenizer's."""
    try:
        return _opened(folder, max_tokens)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None  # the reference says what is wrong


def sentence_folder(folder: Path) -> BertFolder | None:
    """Like :func:`model_folder`, for a sentence-transformers model that averages over the tokens; None for others."""
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        kinds = [module["type"].rpartition(".")[2] for module in modules]
        if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
            return None
        inner = folder / modules[0]["path"]
        pooling, options = (
            _read(folder / modules[1]["path"] / "config.json"),
            _read(inner / "sentence_bert_config.json"),
        )
        prompts = _read(folder / "config_sentence_transformers.json").get("prompts", {})
        plain = _means(pooling) and options.keys() <= SENTENCE_OPTIONS and not options.get("do_lower_case")
        return _opened(inner, options.get("max_seq_length")) if plain and not any(prompts.values()) else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _opened(folder: Path, max_tokens: int | None) -> BertFolder | None:
    config, options = _read(folder / "config.json"), _read(folder / "tokenizer_config.json")
    saved = (folder / "tokenizer.json").read_text(encoding="utf-8")
    if not (_computed(config) and _tokenised(options, json.loads(saved))):
        return None
    room = config["max_position_embeddings"] - FIRST_POSITION[config["model_type"]]
    longest = min(max_tokens or options.get("model_max_length") or room, room)
    inputs = options.get("model_input_names")
    typed = options["tokenizer_class"].startswith("Bert") if inputs is None else "token_type_ids" in inputs
    weights = MappedWeights(folder / "model.safetensors")
    tokenizer = _tokenizer(saved)
    templates = TokenTemplate.of(tokenizer, "a"), TokenTemplate.of(tokenizer, "a", "a")
    return BertFolder(config, weights, tokenizer, templates, longest, typed)


def _computed(config: dict[str, Any]) -> bool:
    return (
        config["model_type"] in FIRST_POSITION
        and config["hidden_act"] == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not config.get("is_decoder")
    )


def _tokenised(options: dict[str, Any], saved: dict[str, Any]) -> bool:
    """True if transformers would use the saved tokenizer unchanged."""
    if options.get("truncation_side", "right") != "right":
        return False
    if options["tokenizer_class"] in AS_SAVED:
        return True
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": options.get("tokenize_chinese_chars", True),
        "strip_accents": options.get("strip_accents"),
        "lowercase": options.get("do_lower_case", True),
    }
    return options["tokenizer_class"] in WORD_PIECES and saved["normalizer"] == normalizer


def _means(pooling: dict[str, Any]) -> bool:
    """True if the vectors are means over the tokens, whichever version wrote the configuration."""
    older = [name for name, chosen in pooling.items() if name.startswith("pooling_mode_") and chosen]
    return pooling.get("pooling_mode", older) in ("mean", ["mean"], ["pooling_mode_mean_tokens"])


def _tokenizer(saved: str) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(saved)
    except Exception as error:  # it raises no other type
        raise ValueError(str(error)) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _read(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an empty one if there is no file."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return content
