from __future__ import annotations

import sys
from pathlib import Path

import pytest
import transformers

from eval.drafts.comparison import meteor, rouge, rouge_l
from pearl.errors import InputError
from retriever.models.bertscore import BertScore
from retriever.models.encoder import embedded_encoder_folder


def test_rouge_by_hand():
    # words: the cat sat down / the cat ran; shared: the, cat; pairs shared: the-cat
    one, two = rouge("The cat sat down.", "the cat ran")
    assert one == pytest.approx(2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4))
    assert two == pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3))
    assert rouge("a b c", "a b c") == (1, 1)
    assert rouge("a b c", "") == (0, 0)
    assert rouge("Кошка села.", "кошка ушла") == (0.5, 0)
    assert rouge("猫坐下了", "猫坐着") == (pytest.approx(4 / 7), pytest.approx(2 / 5))


def test_rouge_l_and_meteor_by_hand():
    # 6 and 5 words, of which the, sat, the, mat stand in this order in both
    precision, recall = 4 / 5, 4 / 6
    shared = 2 * precision * recall / (precision + recall)
    assert rouge_l("The cat sat on the mat.", "the sat by the mat") == pytest.approx(shared)
    assert rouge_l("a b", "") == 0
    # cats has the stem of cat: all three match in one chunk, and the penalty is half of (1 / 3) cubed
    assert meteor("the cat sat", "the cats sat") == pytest.approx(1 - 0.5 / 27)
    assert meteor("the cat sat", "") == meteor("a cat", "two dogs") == 0


def test_bertscore_is_the_greedy_match_of_token_vectors(bertscore):
    import torch

    target, draft = "The cat sat on the mat.", "A cat is sitting on a rug"
    folder = str(embedded_encoder_folder())
    model, tokenizer = (
        transformers.AutoModel.from_pretrained(folder).eval(),
        transformers.AutoTokenizer.from_pretrained(folder),
    )

    def vectors(text):
        with torch.no_grad():
            found = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]  # (T, E)
        return torch.nn.functional.normalize(found, dim=-1)

    alike = vectors(draft) @ vectors(target).T
    # what stands for beginning and end may be matched but does not count
    precision, recall = alike.max(dim=1).values[1:-1].mean(), alike.max(dim=0).values[1:-1].mean()
    expected = float(2 * precision * recall / (precision + recall))
    assert bertscore.scores([target], [draft]) == [pytest.approx(expected, abs=1e-4)]


def test_bertscore_orders_and_survives_odd_texts(bertscore):
    targets = ["the cat sat", "the cat sat", "the cat sat", " ", "x", "word " * 3000, "今日は \U0001f600", "a\x01b"]
    drafts = ["the cat sat", "a cat was sitting", "quarterly revenue grew", "a", "", "word " * 2000, "今日は", "a b"]
    same, near, far, *odd = bertscore.scores(targets, drafts)
    assert same == 1
    assert 1 > near > far
    assert odd[:2] == [0, 0]
    assert all(-1 <= each <= 1 for each in odd)
    assert bertscore.scores([], []) == []
    assert bertscore.description == {"model": "all-MiniLM-L6-v2", "layer": 6, "rescaled": False}


def test_a_folder_whose_name_holds_the_name_of_another_kind_of_model(bertscore, tmp_path):
    folder = tmp_path / "my-t5-work"
    folder.symlink_to(embedded_encoder_folder())
    assert BertScore(str(folder)).scores(["the cat sat"], ["a cat"]) == bertscore.scores(["the cat sat"], ["a cat"])


def test_an_encoder_that_cannot_compare(tmp_path: Path):
    config = transformers.T5Config(
        vocab_size=32_000, d_model=8, d_ff=8, d_kv=4, num_layers=1, num_heads=2, decoder_start_token_id=0
    )
    transformers.T5Model(config).save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(embedded_encoder_folder()).save_pretrained(tmp_path)
    with pytest.raises(InputError, match="cannot compare texts for BERTScore"):
        BertScore(str(tmp_path)).check()


def test_an_encoder_that_is_not_there(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be loaded for BERTScore"):
        BertScore(str(tmp_path / "nothing")).check()


def test_without_the_library_it_says_what_to_install_before_anything_is_drafted(monkeypatch):
    monkeypatch.setitem(sys.modules, "bert_score", None)
    with pytest.raises(InputError, match=r"pip install 'pearl-writing\[eval\]'"):
        BertScore().check()
