"""The fast path (shared prefixes, padded batches) against one plain forward pass a pair."""

from __future__ import annotations

import gzip
import json
import shutil

import numpy as np
import pytest
import torch
import transformers
from tokenizers.processors import TemplateProcessing

from pearl.errors import InputError
from retriever.models import auxiliary
from retriever.models import load_auxiliary as loading
from retriever.models.auxiliary import AuxiliaryModel, PairGroup
from retriever.models.load_auxiliary import CausalAuxiliary, load_auxiliary, load_smollm2
from retriever.models.packed import Pack

TEXTS = [
    "Kettle's on.",
    "Rule of the bench: measure twice, and then once more because the tape was upside down.",
    "é😀",
]
REQUESTS = ["When?", "A post about spokes and the truing of wheels without a stand"]
TARGETS = ["At ten sharp.", "Item: one wheel, wobbling. " * 3]


def groups_of(model: AuxiliaryModel) -> list[PairGroup]:
    """A group a document, of one, two or all requests."""
    found = []
    for number, text in enumerate(TEXTS):
        pairs = list(zip(REQUESTS, TARGETS, strict=True))[: 1 + number % 2]
        prompts = tuple(
            tuple(model.encode(f"An example:\n{text}\n\nRequest: {request}\nText:\n")) for request, _ in pairs
        )
        found.append(PairGroup(prompts, tuple(tuple(model.encode(target)) for _, target in pairs)))
    return found


def flat(groups: list[PairGroup]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [pair for group in groups for pair in zip(group.prompts, group.targets, strict=True)]


@pytest.mark.parametrize("kind", ["causal", "seq2seq"])
def test_likelihoods_equal_a_plain_forward_pass(kind, request):
    folder = request.getfixturevalue(f"{kind}_folder")
    model = load_auxiliary(str(folder), dtype="float32")
    groups = groups_of(model)
    load = transformers.AutoModelForCausalLM if kind == "causal" else transformers.AutoModelForSeq2SeqLM
    plain = load.from_pretrained(folder, dtype=torch.float32).eval()
    expected = []
    with torch.inference_mode():
        for prompt, target in flat(groups):
            if kind == "causal":
                logits = plain(torch.tensor([[*prompt, *target]])).logits[0, len(prompt) - 1 :]
            else:
                begun = torch.tensor([[0, *target[:-1]]])
                logits = plain(input_ids=torch.tensor([[*prompt, 2]]), decoder_input_ids=begun).logits[0]
            expected.append(sum(logits.log_softmax(-1)[step, token].item() for step, token in enumerate(target)))

    found = [likelihood for scored in model.likelihoods(groups) for likelihood in scored]

    assert [likelihood.total for likelihood in found] == pytest.approx(expected, rel=1e-4)
    if kind == "causal":
        assert [likelihood.tokens for likelihood in found] == [len(target) for _, target in flat(groups)]
        assert found[0].mean == found[0].total / found[0].tokens


def test_models_that_call_their_parts_otherwise(causal_folder, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(causal_folder)
    config = transformers.GPT2Config(vocab_size=len(tokenizer), n_positions=256, n_embd=16, n_layer=2, n_head=2)
    plain = transformers.GPT2LMHeadModel(config).eval()
    plain.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = load_auxiliary(str(tmp_path), dtype="float32")
    prompt, target = tuple(model.encode("one two three")), tuple(model.encode("four five"))
    with torch.inference_mode():
        logits = plain(torch.tensor([[*prompt, *target]])).logits[0].log_softmax(-1)
    expected = sum(logits[len(prompt) - 1 + step, token].item() for step, token in enumerate(target))
    ((found,),) = model.likelihoods([PairGroup((prompt,), (target,))])
    assert found.total == pytest.approx(expected, rel=1e-4)


def test_a_model_that_expects_a_first_token_gets_it(causal_folder, tmp_path):
    folder = shutil.copytree(causal_folder, tmp_path / "begins")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    first = tokenizer.bos_token_id
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{tokenizer.bos_token} $A", special_tokens=[(tokenizer.bos_token, first)]
    )
    tokenizer.save_pretrained(folder)
    without, model = (load_auxiliary(str(each), dtype="float32") for each in (causal_folder, folder))
    assert model.fingerprint["begins_with"] == tokenizer.bos_token
    assert "begins_with" not in without.fingerprint
    prompt, target = tuple(model.encode("one two")), tuple(model.encode("three"))
    ((found,),) = model.likelihoods([PairGroup((prompt,), (target,))])
    ((expected,),) = without.likelihoods([PairGroup(((first, *prompt),), (target,))])
    assert found.total == pytest.approx(expected.total, rel=1e-5)


def test_a_model_whose_logits_are_scaled_is_refused(causal_folder, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(causal_folder)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.Gemma2Config(vocab_size=len(tokenizer), head_dim=8, num_key_value_heads=2, **sizes)
    transformers.Gemma2ForCausalLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="by final_logit_softcapping"):
        load_auxiliary(str(tmp_path))


def test_an_encoder_is_no_auxiliary_model(bert_folder):
    with pytest.raises(InputError, match="it is an encoder, which has read the words that it would predict"):
        load_auxiliary(str(bert_folder))


def test_a_truncated_file_of_weights_is_named(causal_folder, tmp_path):
    folder = shutil.copytree(causal_folder, tmp_path / "cut")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(InputError, match="cannot be loaded"):
        load_auxiliary(str(folder))


@pytest.mark.parametrize("kind", ["causal", "seq2seq"])
def test_batches_of_any_size_give_the_same_likelihoods(kind, request, monkeypatch):
    model = load_auxiliary(str(request.getfixturevalue(f"{kind}_folder")), dtype="float32")
    groups = groups_of(model)
    together = model.likelihoods(groups)
    monkeypatch.setattr({"causal": loading, "seq2seq": auxiliary}[kind], "BATCH_TOKENS", 1)

    apart = model.likelihoods(groups)

    assert [len(scored) for scored in together] == [len(group.prompts) for group in groups]

    for one, other in zip(together, apart, strict=True):
        assert [likelihood.total for likelihood in one] == pytest.approx(
            [likelihood.total for likelihood in other], rel=1e-4
        )


def test_a_model_that_is_not_packed_gives_the_same_likelihoods(causal_folder, monkeypatch):
    model = load_auxiliary(str(causal_folder), dtype="float32")
    assert isinstance(model, CausalAuxiliary)
    packed = [each.total for scored in model.likelihoods(groups_of(model)) for each in scored]
    monkeypatch.setattr(model, "_packed", None)
    padded = [each.total for scored in model.likelihoods(groups_of(model)) for each in scored]
    assert padded == pytest.approx(packed, rel=1e-4)


def test_pairs_are_batched_by_length_within_the_budget(monkeypatch):
    monkeypatch.setattr(auxiliary, "BATCH_TOKENS", 40)
    pairs = [((1,) * length, (1,) * 4) for length in (6, 30, 5, 50, 6, 6)]

    batches = auxiliary.pair_batches(pairs)

    # 4 pairs of 6 + 4 tokens are 40; 30 + 4 stand alone, and so does what is over the budget by itself
    assert batches == [[2, 0, 4, 5], [1], [3]]


@pytest.mark.parametrize("kind", ["causal", "seq2seq"])
def test_prompts_of_one_token_and_none_at_all(kind, request):
    model = load_auxiliary(str(request.getfixturevalue(f"{kind}_folder")), dtype="float32")

    apart = PairGroup(((5, 6), (9, 6)), ((7,), (8, 7)))  # two prompts that share nothing
    alone = [model.likelihoods([PairGroup((prompt,), (target,))])[0][0].total for prompt, target in flat([apart])]
    assert [each.total for each in model.likelihoods([apart])[0]] == pytest.approx(alone, rel=1e-4)
    assert model.likelihoods([]) == []


def test_what_is_longer_than_the_window_is_an_input_error(narrow_folder):
    model = load_auxiliary(str(narrow_folder), dtype="float32")
    assert isinstance(model, CausalAuxiliary)
    fits, prompt = (5,) * 44, (5,) * 45

    assert model.likelihoods([PairGroup((fits,), ((6,) * 20,))])[0][0].tokens == 20
    with pytest.raises(InputError, match=r"have 65 tokens; the window of the model .* holds 64"):
        model.likelihoods([PairGroup((fits, prompt), ((6,) * 20, (6,) * 20))])


@pytest.mark.parametrize(
    ("prompts", "shared"),
    [
        (((1, 2, 3), (1, 2, 4)), 2),
        (((1, 2), (1, 2, 3)), 1),  # a token of each prompt stays outside, for the target hangs on it
        (((5,),), 0),
        (((1, 2, 3),), 2),
        (((1, 2), (3, 4)), 0),
    ],
)
def test_what_prompts_share(prompts, shared):
    assert PairGroup(prompts, tuple((9,) for _ in prompts)).shared() == shared


def test_an_unknown_model_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot be loaded"):
        load_auxiliary(str(tmp_path))


def test_a_gpu_asked_for_where_there_is_none(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(InputError, match="device cuda"):
        load_auxiliary("embedded", device="cuda")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"device": "gpu"}, "device gpu: there are cpu, cuda"),
        ({"device": "cuda:x"}, "device cuda:x: "),
        ({"device": "cuda:99"}, "device cuda:99: there is no such GPU"),
        ({"dtype": "int4"}, "dtype int4: there are auto, float32, bfloat16"),
    ],
)
def test_devices_and_types_that_are_not_there(options, complaint):
    with pytest.raises(InputError, match=complaint):
        load_auxiliary("embedded", **options)


@pytest.mark.slow
def test_the_embedded_model_agrees_with_an_independent_script(embedded_once, shared):
    """Same prompts and truncations, another script: git_gains_sample.jsonl.gz, here the first of its requests and
    of their documents."""
    prompts = json.loads((shared / "data/commits/git_gains_prompts.json").read_text())
    with gzip.open(shared / "data/commits/git_gains_sample.jsonl.gz", "rt") as lines:
        records = [json.loads(line) for _, line in zip(range(3), lines, strict=False)]
    model = load_auxiliary("embedded")
    ours, theirs = [], []
    for record in records:
        target = tuple(model.encode(record["target"], 128))

        def prompt(name: str, document: str = "", request: str = record["request"]) -> tuple[int, ...]:
            return tuple(model.encode(prompts[name].replace("{d}", document).replace("{q}", request)))

        texts = [model.decode(model.encode(document["text"], 160)) for document in record["documents"][:4]]
        groups = [PairGroup((prompt("with_document", text),), (target,)) for text in texts]
        (without,) = model.likelihoods([PairGroup((prompt("without_document"),), (target,))])[0]
        ours += [scored[0].total - without.total for scored in model.likelihoods(groups)]
        theirs += record["gain"][:4]

    assert np.corrcoef(ours, theirs)[0, 1] > 0.99


def test_a_llama_on_a_processor_is_run_without_padding(causal_folder):
    """As transformers runs it, also in bfloat16; its matrices are in memory once."""
    model = load_auxiliary(str(causal_folder), dtype="float32")
    assert isinstance(model, CausalAuxiliary)
    assert model._packed is not None
    plain = transformers.AutoModelForCausalLM.from_pretrained(causal_folder, dtype=torch.float32).eval()
    sequences = [[5, 6, 7, 8], [5, 6, 9], [5, 6]]
    pack = Pack.of([((5, 6), [sequence[2:] for sequence in sequences]), ((), [[7]])])
    assert pack.tokens.tolist() == [5, 6, 7, 8, 9, 7]
    assert pack.places.tolist() == [0, 1, 2, 3, 2, 0]
    with torch.inference_mode():
        found = model._packed.hidden(pack)
        for sequence, at in zip(sequences, (3, 4, 1), strict=True):
            expected = plain.model(torch.tensor([sequence])).last_hidden_state[0, -1]
            assert found[at] == pytest.approx(expected, abs=1e-4)
    attention = model._model.model.layers[0].self_attn
    joined = model._packed._layers[0].query_key_value
    assert attention.q_proj.weight.untyped_storage().data_ptr() == joined.untyped_storage().data_ptr()
    groups = groups_of(model)
    exact = [each.total for scored in model.likelihoods(groups) for each in scored]
    halves = load_auxiliary(str(causal_folder), dtype="bfloat16")
    rounded = [each.total for scored in halves.likelihoods(groups) for each in scored]
    assert rounded == pytest.approx(exact, rel=0.02)


def test_a_llama_with_extras_is_left_to_transformers(causal_folder, tmp_path):
    config = transformers.AutoConfig.from_pretrained(causal_folder)
    config.attention_bias = True
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(causal_folder).save_pretrained(tmp_path)
    model = load_auxiliary(str(tmp_path), dtype="float32")
    assert isinstance(model, CausalAuxiliary)
    assert model._packed is None
    groups = groups_of(model)
    alone = [model.likelihoods([PairGroup((prompt,), (target,))])[0][0].total for prompt, target in flat(groups)]
    assert [each.total for scored in model.likelihoods(groups) for each in scored] == pytest.approx(alone, rel=1e-4)


# ids as SmolLM2's scores have had them from the beginning: digits are not split off as llama.cpp does
def test_weights_have_the_type_and_texts_their_tokens(tiny_gguf):
    model, tokenizer = load_smollm2(tiny_gguf, torch.bfloat16)
    assert {weights.dtype for weights in model.state_dict().values()} == {torch.bfloat16}
    assert model.lm_head.weight is model.model.embed_tokens.weight
    words = tokenizer.convert_ids_to_tokens(tokenizer("the 12 of the<|im_end|>")["input_ids"])
    assert words == ["the", "Ġ", "12", "Ġ", "o", "f", "Ġthe", "<|im_end|>"]
    assert tokenizer.special_tokens_map["bos_token"] == "<|im_start|>"


@pytest.mark.parametrize("left", [0, 4, 30, 3_000, -100])
def test_a_file_that_is_cut_off(tiny_gguf, tmp_path, left):
    (tmp_path / "cut.gguf").write_bytes(tiny_gguf.read_bytes()[:left])
    with pytest.raises(InputError, match=r"cut\.gguf cannot be read \(.*\); install it again: pip install --force"):
        load_smollm2(tmp_path / "cut.gguf", torch.float32)
