from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import threading
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from safetensors.torch import save, save_file
from threadpoolctl import threadpool_info

from pearl.records import Document
from pearl.text.history.files import read_json_lines
from retriever.models import runtime
from retriever.models.cross_encoder import PairReading
from retriever.models.encoder import SentenceEncoder, embedded_encoder_folder
from retriever.models.folder import LETTERS, SHORT_STEP, STEP, BertFolder, model_folder, sentence_folder
from retriever.models.graph import Arithmetic, logits_graph, mean_graph
from retriever.models.quantized import read_weights, write_weights
from retriever.models.runtime import CORES, TextModel
from training.fit.cross_encoder import CrossEncoderOptions, new_cross_encoder
from training.fit.kept import save_cross_encoder

ROOT = Path(__file__).parents[3]
ODD = [
    "",
    " ",
    "Bread",
    "🍞🥖🧂",
    "🏳️‍🌈 👩‍👩‍👧‍👦",
    "שלום עולם، مرحبا بالعالم",
    "zero\u200bwidth\u200djoined\ufeff",
    "naïve café, Ångström ﬁne",
    "今日はパンを焼きました。",
    "x" * 5000,
    "word " * 3000,
    "a\tb\n\nc\x00d\x07",
    "[CLS] [SEP] [PAD] ##ing",
    ",.;:" * 100,
]
# what bfloat16, or rounding in 8 bits, may change
LOGIT_SHARE = 0.1  # of the standard deviation


def test_it_is_told_that_telemetry_is_not_installed(tmp_path):
    program = "import sys, pearl.models.runtime.silent_openvino\nprint(sys.modules['openvino_telemetry'])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ | {"HOME": str(tmp_path)},
    )
    assert done.stdout == "None\n"
    assert list(tmp_path.iterdir()) == []  # where it counts how often it was used


def test_blas_leaves_the_cores_to_the_models():
    SentenceEncoder().encode_request("bread")
    assert {each["num_threads"] for each in threadpool_info() if "numpy" in each["filepath"]} == {1}


def test_openvino_is_imported_in_one_place():
    packages = ("pearl", "retriever", "service", "training", "eval", "benchmarks", "docs", "tests")
    found = {
        str(path.relative_to(ROOT))
        for package in packages
        for path in (ROOT / package).rglob("*.py")
        if "openvino" in (source := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Import) and any(alias.name.partition(".")[0] == "openvino" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "openvino")
    }
    assert found == {"pearl/models/runtime/silent_openvino.py"}


@pytest.mark.slow
def test_no_training_library_is_loaded_to_encode_and_score(real_pairs_folder):
    program = f"""
import sys
from pathlib import Path
from pearl.records import Document, Request
from retriever.models.cross_encoder import CrossEncoderModel, PairReading
from retriever.models.encoder import SentenceEncoder
encoder = SentenceEncoder()
texts = [f"text {{number}} of the bench " * number for number in range(20)]
assert encoder.encode_documents(texts).shape == (20, 384)
assert encoder.encode_request("bread").shape == (1, 384)
model = CrossEncoderModel(Path({str(real_pairs_folder)!r}), PairReading(128))
documents = [Document(str(place), text) for place, text in enumerate(texts)]
assert model.logits(Request("bread"), documents).shape == (20,)
print(*{{"torch", "transformers", "sentence_transformers", "huggingface_hub"}} & sys.modules.keys())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "\n"  # the memory that is left to the models is a figure of benchmarks/serving.py


@pytest.fixture(scope="module")
def real_texts() -> list[str]:
    """Some of the sample user's, which every copy of the repository has."""
    lines = read_json_lines(ROOT / "service/sample/history.jsonl")
    return [line.value["text"] for line in islice(lines, 0, 48, 2)]


@pytest.fixture(scope="module")
def real_pairs_folder(tmp_path_factory) -> Path:
    """The embedded weights under a head of random ones, as an artifact carries it."""
    folder = tmp_path_factory.mktemp("real") / "cross-encoder"
    save_cross_encoder(real_model(), folder)
    return folder


def real_model() -> Any:
    model: Any = new_cross_encoder("embedded", CrossEncoderOptions())
    with torch.no_grad():
        model.model.classifier.weight.mul_(10.0)
    return model


@pytest.fixture(scope="module")
def exact_vectors(real_texts) -> np.ndarray:
    """Of the real texts and the odd ones, by the embedded model as it was published."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(embedded_encoder_folder()), device="cpu", local_files_only=True)
    return np.asarray(model.encode(real_texts + ODD, normalize_embeddings=True))


@pytest.fixture(scope="module")
def real_pairs(real_texts, real_pairs_folder) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Pairs, and the logits of the reference."""
    pairs = [("fix a leak of memory", text) for text in real_texts + ODD]
    pairs += [(request, text) for request in ("🍞", "") for text in ODD]
    return pairs, exact_logits(real_pairs_folder, pairs)


def opened(folder: Path, max_tokens: int = 128) -> BertFolder:
    found = model_folder(folder, max_tokens)
    assert found is not None
    return found


@pytest.mark.parametrize("arithmetic", [pytest.param(Arithmetic.BFLOAT16, marks=pytest.mark.slow), Arithmetic.FLOAT32])
def test_vectors_are_the_references(arithmetic, real_texts, exact_vectors):
    folder = sentence_folder(embedded_encoder_folder())
    assert folder is not None
    found = TextModel(folder, mean_graph, arithmetic).outputs([(text,) for text in real_texts + ODD])
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    cosines = (found * exact_vectors).sum(axis=1)
    assert cosines.min() > (0.9995 if arithmetic is Arithmetic.BFLOAT16 else 0.9998)


@pytest.mark.parametrize("arithmetic", [pytest.param(Arithmetic.BFLOAT16, marks=pytest.mark.slow), Arithmetic.FLOAT32])
def test_logits_are_the_references(arithmetic, real_pairs, real_pairs_folder):
    pairs, exact = real_pairs
    assert_logits(TextModel(opened(real_pairs_folder), logits_graph, arithmetic).outputs(pairs)[:, 0], exact)


def test_where_onednn_may_use_avx2_alone_vectors_are_the_same():
    texts = ["fix a leak of memory", "Bread"]
    program = f"from retriever.models.encoder import *; print(SentenceEncoder().encode_documents({texts}).tolist())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX2"},
        capture_output=True,
        text=True,
        check=True,
    )
    cosines = (np.array(ast.literal_eval(done.stdout)) * SentenceEncoder().encode_documents(texts)).sum(axis=1)
    assert cosines.min() > 0.9995


def test_a_model_that_cannot_be_compiled_says_why(real_pairs_folder, monkeypatch):
    lines = "Exception from src/core.cpp:117:\nException from src/plugin.cpp:54:\nThere is no Softmax here.\n\n\n"
    refusing = SimpleNamespace(compile_model=lambda *_: raising(RuntimeError(lines)))
    monkeypatch.setattr(runtime, "_core", lambda: refusing)
    with pytest.raises(ValueError, match=r"^There is no Softmax here\.$"):
        TextModel(opened(real_pairs_folder), logits_graph, Arithmetic.FLOAT32)


def raising(error: Exception) -> None:
    raise error


def test_nothing_is_unpacked_when_it_is_compiled(real_pairs_folder):
    # each core would do that for itself in the same place, and one multiply by what has no scale yet
    for arithmetic in Arithmetic:
        compiled = TextModel(opened(real_pairs_folder), logits_graph, arithmetic)._compiled
        kinds = {
            (node.get_rt_info()["layerType"].value, before.get_node().get_rt_info()["layerType"].value)
            for node in compiled.get_runtime_model().get_ops()
            for before in node.input_values()
        }
        assert ("Convert", "Const") not in kinds
        assert ("Convert", "Gather") in kinds  # the tables' rows


@pytest.mark.parametrize(
    ("capabilities", "faster", "arithmetic"),
    [
        (["FP32", "BF16"], True, Arithmetic.BFLOAT16),
        (["FP32", "BF16"], False, Arithmetic.FLOAT32),  # as without tiles (AMX)
        (["FP32"], True, Arithmetic.FLOAT32),
    ],
)
def test_bfloat16_only_where_it_is_there_and_faster(capabilities, faster, arithmetic, monkeypatch):
    core = SimpleNamespace(get_property=lambda *_: capabilities, compile_model=runtime._core().compile_model)
    monkeypatch.setattr(runtime, "_core", lambda: core)
    monkeypatch.setattr(runtime, "is_clearly_faster", lambda some, *, than: (some(), than(), faster)[2])
    assert runtime.fastest.__wrapped__() is arithmetic


def assert_logits(found: np.ndarray, exact: np.ndarray, mean: float = LOGIT_SHARE / 2) -> None:
    spread = exact.std()
    assert np.abs(found - exact).max() < 4 * LOGIT_SHARE * spread
    assert np.abs(found - exact).mean() < mean * spread
    later, earlier = np.nonzero(exact[:, None] - exact[None] > 3 * LOGIT_SHARE * spread)
    assert (found[later] > found[earlier]).mean() > 0.999


def exact_logits(folder: Path, pairs: list[tuple[str, str]], max_tokens: int = 128) -> np.ndarray:
    """In float32, a pair at a time, without any of the runtime's code."""
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(folder))
    model.load_state_dict(read_weights(folder / "model.safetensors"))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model.eval()
    options: Any = {"truncation": "longest_first", "max_length": max_tokens, "return_tensors": "pt"}
    with torch.inference_mode():
        return np.array([float(model(**tokenizer([asked], [text], **options)).logits) for asked, text in pairs])


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
@pytest.mark.parametrize(("width", "positions"), [(64, 192), (24, 100)])
@pytest.mark.parametrize(
    ("arithmetic", "write", "share"),
    [
        (Arithmetic.FLOAT32, save_file, 0.001),
        (Arithmetic.BFLOAT16, save_file, 0.2),
        (Arithmetic.FLOAT32, write_weights, 0.4),
        (Arithmetic.BFLOAT16, write_weights, 0.2),
    ],
    ids=["float32", "bfloat16", "packed", "packed-bfloat16"],
)
def test_small_models_of_both_architectures(kind, width, positions, arithmetic, write, share, tmp_path, byte_tokens):
    """``share``: of the logits' standard deviation, by which they may be off."""
    from transformers import BertConfig, BertForSequenceClassification, MPNetConfig, MPNetForSequenceClassification

    torch.manual_seed(width)
    configs: Any = {"bert": BertConfig, "mpnet": MPNetConfig}
    models: Any = {"bert": BertForSequenceClassification, "mpnet": MPNetForSequenceClassification}
    config = configs[kind](
        vocab_size=260,
        hidden_size=width,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=width,
        max_position_embeddings=positions,
        initializer_range=0.3,
        num_labels=1,
        pad_token_id={"bert": 0, "mpnet": 1}[kind],
    )
    config.save_pretrained(tmp_path)
    byte_tokens.save_pretrained(tmp_path)
    write(models[kind](config).state_dict(), tmp_path / "model.safetensors")
    pairs = [("asked", text * times) for text in ("a text of bytes ", "0", "ÄÖÜ") for times in (0, 1, 3, 20)]
    folder = opened(tmp_path, 90)
    assert folder.longest == 90
    exact = exact_logits(tmp_path, pairs, 90)
    found = TextModel(folder, logits_graph, arithmetic).outputs(pairs)[:, 0]
    assert np.abs(found - exact).max() < share * exact.std()


@pytest.fixture
def byte_tokens(bert_folder) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(bert_folder)


def test_tokens_are_those_of_transformers(real_texts, real_pairs_folder):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(real_pairs_folder)
    folder = opened(real_pairs_folder)
    pairs = [
        PairReading(128).pair(asked, Document("", text))
        for asked in (*ODD, real_texts[0])
        for text in real_texts[:9] + ODD
    ]
    for asked, text in pairs:
        expected = tokenizer([asked], [text], truncation="longest_first", max_length=128)
        assert_tokens(
            folder.tokens([folder.ids(asked), folder.ids(text)]),
            expected["input_ids"][0],
            expected["token_type_ids"][0],
        )


def test_tokens_are_those_of_sentence_transformers(real_texts):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(embedded_encoder_folder()), device="cpu", local_files_only=True)
    folder = sentence_folder(embedded_encoder_folder())
    assert folder is not None
    assert folder.longest == 256
    for text in real_texts + ODD:
        expected = model.preprocess([text])
        assert_tokens(
            folder.tokens([folder.ids(text)]), expected["input_ids"][0].tolist(), expected["token_type_ids"][0].tolist()
        )


def assert_tokens(found: np.ndarray, ids: list[int], types: list[int]) -> None:
    length = len(ids)
    step = STEP if length > STEP else SHORT_STEP
    assert found.shape[1] % step == 0
    assert found.shape[1] - length < step
    assert found[0].tolist() == ids + [0] * (found.shape[1] - length)
    assert found[1, :length].tolist() == types
    assert found[2].tolist() == [1] * length + [0] * (found.shape[1] - length)


def test_a_tokenizer_without_types_and_an_empty_text(bert_folder):
    tiny = opened(bert_folder, 50)
    assert not tiny.typed
    assert tiny.tokens([tiny.ids(""), tiny.ids("")])[2].tolist() == [1] + [0] * (
        SHORT_STEP - 1
    )  # one of padding: a model needs a token
    long = tiny.tokens([tiny.ids("y" * 100), tiny.ids("z" * 10)])
    assert long.shape == (3, 50)  # no more than the window, though it is no multiple
    assert long[2].all()


def test_threads_get_their_own_answers(bert_folder, cross_encoder_folder):
    model = TextModel(opened(cross_encoder_folder), logits_graph)
    inputs = [[(f"request {number}", "text " * place) for place in range(number % 7)] for number in range(16)]
    expected = [model.outputs(each) for each in inputs]
    found: dict[int, np.ndarray] = {}

    def score(number: int) -> None:
        for _ in range(5):
            found[number] = model.outputs(inputs[number])

    threads = [threading.Thread(target=score, args=(number,)) for number in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(inputs)
    assert all(np.array_equal(found[number], each) for number, each in enumerate(expected))


def test_it_uses_no_more_cores_than_there_are_and_none_when_idle(cross_encoder_folder):
    TextModel(opened(cross_encoder_folder), logits_graph).outputs([("a", "b")] * 20)
    assert 1 <= CORES <= (os.cpu_count() or 1)
    process = psutil.Process()
    before = sum(process.cpu_times()[:2])
    threading.Event().wait(0.3)
    assert sum(process.cpu_times()[:2]) - before < 0.15


def rewritten(path: Path, change: dict[str, Any] | bytes | None) -> None:
    """Change some fields of a JSON file, or all of a file; None removes it."""
    if isinstance(change, dict):
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
    elif change is None:
        path.unlink()
    else:
        path.write_bytes(change)


@pytest.fixture
def copied(tmp_path) -> Path:
    """The embedded encoder with weights of another name, which are not looked at to choose."""
    shutil.copytree(embedded_encoder_folder(), tmp_path / "model", ignore=shutil.ignore_patterns("*.safetensors"))
    save_file({"a": torch.zeros(2)}, tmp_path / "model/model.safetensors")
    return tmp_path / "model"


HALVES = save({"a": torch.zeros(2, dtype=torch.bfloat16)})
DENSE = [
    {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
    for place, (path, kind) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense")])
]


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}),
        ("modules.json", json.dumps(DENSE).encode()),
        ("config_sentence_transformers.json", {"prompts": {"query": "Find: "}}),
        ("sentence_bert_config.json", {"do_lower_case": True}),
        ("sentence_bert_config.json", {"query_length": 32}),  # an option that nobody knows
        ("config.json", {"model_type": "roberta"}),
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"position_embedding_type": "relative_key"}),
        ("config.json", {"is_decoder": True}),
        ("config.json", b"{"),
        ("config.json", b"[]"),
        ("tokenizer_config.json", {"tokenizer_class": "RobertaTokenizer"}),
        ("tokenizer_config.json", {"do_lower_case": False}),  # the tokenizer says otherwise
        ("tokenizer_config.json", {"truncation_side": "left"}),
        ("tokenizer.json", None),
        ("tokenizer.json", b'{"normalizer": 1}'),
        ("model.safetensors", None),
        ("model.safetensors", b"junk"),
        ("model.safetensors", HALVES),
    ],
)
def test_what_is_left_to_torch(file, change, copied):
    assert sentence_folder(copied) is not None
    rewritten(copied / file, change)
    assert sentence_folder(copied) is None


def test_what_is_no_folder_is_left_to_torch():
    assert sentence_folder(Path("sentence-transformers/all-mpnet-base-v2")) is None
    assert model_folder(Path("/nothing/there")) is None


def test_a_model_left_to_torch_is_as_good(tmp_path, encoder, real_texts):
    shutil.copytree(embedded_encoder_folder(), tmp_path / "model")
    rewritten(tmp_path / "model/config_sentence_transformers.json", {"prompts": {"query": "", "document": "x"}})
    (tmp_path / "model/sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    left = SentenceEncoder(str(tmp_path / "model"))
    found = left.encode_request(real_texts[0])
    assert sentence_folder(tmp_path / "model") is None
    assert float((found @ encoder.encode_request(real_texts[0]).T)[0, 0]) > 0.999


def test_what_lies_far_behind_in_a_text_is_not_tokenized(real_pairs_folder):
    """A megabyte takes seconds, in which the tokenizer lets no other thread run."""
    folder = opened(real_pairs_folder)
    words = "mind the tide " * 70_000
    ids = folder.ids(words)
    assert folder.longest < len(ids) <= folder.longest * LETTERS
    assert (folder.tokens([ids]) == folder.tokens([folder.ids(words[:10_000])])).all()
