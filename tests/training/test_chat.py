"""``pearl train chat``: from pairs to a judge of one's own, by every command on the way."""

from __future__ import annotations

import json
import shutil

import pytest

from pearl.text.files.whole import file_digest
from retriever.models.files import folder_digest

TEXTS = ("The tide went out", "A kettle sang", "Nobody moved the stone")
RECORDS = [
    {"paragraph1": text, "paragraph2": f"{text} like a dream", "reference_preference": "1", "rationale": "It is plain."}
    for text in TEXTS
] + [{"paragraph": TEXTS[0], "score": 8.0}, {"paragraph": TEXTS[1], "score": 0.0}]


@pytest.fixture
def chats(run_pearl, tmp_path):
    """``pearl judge items --from quality`` and the conversations that it writes."""

    def run(*more, records=RECORDS):
        data, out = tmp_path / "records.json", tmp_path / "chats.jsonl"
        data.write_text(json.dumps(records), encoding="utf-8")
        ran = run_pearl("judge", "items", "--from", "quality", "--data", data, "--out", out, "--json", "-", *more)
        lines = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
        return ran, [[turn["content"] for turn in json.loads(line)["messages"]] for line in lines]

    return run


@pytest.fixture
def fit(train, chat_folder, tmp_path):
    """``pearl train chat`` on the conversations, with choices, and options by name."""
    common = {"data": tmp_path / "chats.jsonl", "base": chat_folder, "out": tmp_path / "judge", "json": "-"}
    return lambda *choose, **options: train("chat", **common | options, choose=list(choose))


def test_pairs_in_both_orders_and_scored_texts(chats):
    ran, turns = chats()
    assert ran.json["records"] == {"pairs": 3, "scored texts": 1, "score off the scale": 1}
    assert [answer for _, _, answer in turns[:2]] == ['{"preference": "1"}', '{"preference": "2"}']
    assert turns[-1][2] == '{"score": 8}'
    assert ran.json["conversations"] == 7


def test_two_versions_of_a_paragraph_with_different_scores_are_a_pair(chats):
    draft = "The tide went out over the flat grey stones and nobody was there to see it go"
    versions = [{"paragraph": draft, "score": 4.0}, {"paragraph": draft.replace("flat ", ""), "score": 7.0}]
    ran, turns = chats("--choose", "variant=P", records=[*versions, {"paragraph": "A kettle sang", "score": 9.0}])
    assert ran.json["records"] == {"not of the variant": 3, "pairs": 1}
    assert [answer for _, _, answer in turns] == ['{"preference": "1"}', '{"preference": "2"}']
    assert turns[0][1].index("over the grey") < turns[0][1].index("over the flat")


def test_a_pair_that_is_given_twice_or_scored_too_is_learned_once(chats):
    draft = "The tide went out over the flat grey stones and nobody was there to see it go"
    shorter = draft.replace("flat ", "")
    given = {"paragraph1": draft, "paragraph2": shorter, "reference_preference": "2"}
    other = {"paragraph1": shorter, "paragraph2": draft, "reference_preference": "1"}
    scored = [{"paragraph": draft, "score": 4.0}, {"paragraph": shorter, "score": 7.0}]
    ran, turns = chats(records=[given, other, *scored])
    assert ran.json["records"] == {"pairs": 1, "repeated pairs, left out": 1, "scored texts": 2}
    assert [answer for _, _, answer in turns] == [
        '{"preference": "2"}',
        '{"preference": "1"}',
        '{"score": 4}',
        '{"score": 7}',
    ]


def test_reasons_in_the_question_or_before_the_verdict(chats):
    _, shown = chats("--choose", "variant=P", "--choose", "rationale=input")
    assert len(shown) == 3, "reasons name the texts by their places"
    assert shown[0][1].endswith("It is plain.")
    assert shown[0][2] == '{"preference": "1"}'
    _, learned = chats("--choose", "variant=P", "--choose", "rationale=output")
    assert learned[0][2] == 'It is plain.\n{"preference": "1"}'
    assert "Give your reasons first, and end with this JSON object" in learned[0][0]
    assert "and nothing else" in shown[0][0]
    ran, _ = chats("--choose", "variant=R", "--choose", "rationale=output")
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert "no record is left for variant=R: " in ran.err
    for why in ("3 not of the variant", "1 without a rationale", "1 score off the scale"):
        assert why in ran.err


def test_a_judge_is_trained(chats, fit, chat_folder, tmp_path):
    chats("--choose", "variant=P")
    data, model = tmp_path / "chats.jsonl", tmp_path / "judge"
    ran = fit("epochs=2", "rate=0.05", "accumulate=2", dev=data)
    assert ran.status == 0, ran.err
    figures = ran.json
    assert (figures["conversations"], figures["too_long"], len(figures["dev_loss"])) == (6, 0, 2)
    assert figures["dev_loss"][1] < figures["dev_loss"][0], "it learns"
    assert figures["trained_weights"] > 0
    assert (figures["base"], figures["base_content"]) == (str(chat_folder), folder_digest(chat_folder))
    assert figures["data"] == figures["dev"] == [{"file": "chats.jsonl", "sha256": file_digest(data)}]
    assert (figures["options"]["rate"], figures["options"]["rank"]) == (0.05, 16)
    assert json.loads((model / "training.json").read_bytes()) | {"model": str(model)} == figures


def test_an_adapter_is_fitted_over_weights_of_four_bits(chats, fit, chat_folder, tmp_path, monkeypatch):
    import torch
    from bitsandbytes.nn import Linear4bit
    from transformers import AutoModelForCausalLM, Trainer

    fitted = []
    trained = Trainer.train

    def seen(self, **more):
        fitted.append(self.model)
        return trained(self, **more)

    monkeypatch.setattr(Trainer, "train", seen)
    chats("--choose", "variant=P")
    ran = fit("four_bit=yes", "epochs=2", "rate=0.05", "accumulate=2", dev=tmp_path / "chats.jsonl")
    assert ran.status == 0, ran.err
    assert ran.json["dev_loss"][1] < ran.json["dev_loss"][0], "it learns"
    (model,) = fitted
    packed = [layer for layer in model.modules() if isinstance(layer, Linear4bit)]
    assert {(layer.weight.quant_type, layer.weight.dtype) for layer in packed} == {("nf4", torch.uint8)}

    # the adapter lies in whole weights: what is written differs from the base, and is of its precision
    written, base = (
        AutoModelForCausalLM.from_pretrained(folder, dtype="auto") for folder in (tmp_path / "judge", chat_folder)
    )
    differs = {
        name for name, weight in written.state_dict().items() if not torch.equal(weight, base.state_dict()[name])
    }
    assert len(differs) == len(packed)
    assert {weight.dtype for weight in written.state_dict().values()} == {torch.float32}


def test_the_embedded_model_is_not_held_in_four_bits(chats, fit):
    chats("--choose", "variant=P")
    ran = fit("four_bit=yes", base="embedded")
    assert ran.status == 2
    assert "--choose four_bit=yes needs a folder or a hub's name as --base" in ran.err


def written(folder):
    """The weights, and the figures of the training."""
    return [(folder / name).read_bytes() for name in ("model.safetensors", "training.json")]


def test_an_interrupted_training_goes_on_to_the_same_model(chats, fit, tmp_path):
    chats("--choose", "variant=P")
    choices = ("epochs=2", "rate=0.05", "accumulate=1")
    assert fit(*choices, out=tmp_path / "whole").status == 0
    (kept,) = (path for path in (tmp_path / "whole.work").iterdir() if path.is_dir())
    # killed while it wrote the second checkpoint
    shutil.copytree(kept, tmp_path / "work" / kept.name)
    (tmp_path / "work" / kept.name / "checkpoint-12" / "trainer_state.json").unlink()
    ran = fit(*choices, out=tmp_path / "resumed", work=tmp_path / "work")
    assert ran.status == 0, ran.err
    assert written(tmp_path / "resumed") == written(tmp_path / "whole")


def test_a_training_that_had_stopped_is_not_gone_on_with(chats, fit, tmp_path, monkeypatch):
    """It was interrupted while it wrote the model; the command is repeated from another folder."""
    chats("--choose", "variant=R")
    choices, dev = ("epochs=20", "rate=0.4", "accumulate=1"), tmp_path / "chats.jsonl"
    monkeypatch.chdir(tmp_path)
    ran = fit(*choices, dev=dev, out="whole", work="work")
    assert ran.status == 0, ran.err
    assert len(ran.json["dev_loss"]) < 20, "it stopped"
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    ran = fit(*choices, dev=dev, out="again", work=tmp_path / "work")
    assert ran.status == 0, ran.err
    assert written(tmp_path / "other" / "again") == written(tmp_path / "whole")


def test_the_checkpoints_of_another_training_are_left_alone(chats, fit, tmp_path):
    choices = ("rate=0.05", "accumulate=1", "epochs=1")
    chats("--choose", "variant=R")
    assert fit(*choices, out=tmp_path / "one", work=tmp_path / "work").status == 0
    chats("--choose", "variant=P")
    assert fit(*choices, out=tmp_path / "two", work=tmp_path / "work").status == 0
    assert fit(*choices, out=tmp_path / "alone").status == 0
    assert written(tmp_path / "two") == written(tmp_path / "alone") != written(tmp_path / "one")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"messages": []}, "messages: must be a list of turns."),
        (
            {"messages": [{"role": "user", "content": "hi"}]},
            "the last turn, which is learned, must be the assistant's.",
        ),
        ({"messages": [{"role": "critic", "content": "hi"}]}, "each turn needs a role"),
        (None, "there is no conversation in it."),
    ],
)
def test_bad_conversations_are_named(fit, write_lines, tmp_path, line, message):
    write_lines([line] if line else [], "chats.jsonl")
    ran = fit()
    assert (ran.status, (tmp_path / "judge").exists()) == (2, False)
    assert message in ran.err


def test_what_cannot_be_trained_is_refused_before_the_work(chats, fit, causal_folder, seq2seq_folder, tmp_path):
    chats("--choose", "variant=R")
    assert "no chat template" in fit(base=causal_folder).err
    assert "cannot be loaded" in fit(base=tmp_path / "none").err
    other = fit(base=seq2seq_folder).err
    assert (other.count("\n"), other.count("cannot be loaded: Unrecognized configuration class")) == (1, 1), "no list"
    full = tmp_path / "full"
    full.mkdir()
    (full / "novel.txt").write_text("mine", encoding="utf-8")
    assert "there is something already" in fit(out=full).err
    assert (full / "novel.txt").exists()
    assert "which is replaced" in fit(work=tmp_path / "judge" / "work").err, "it could not be gone on with"
    assert "give a larger max_tokens" in fit("max_tokens=16").err
    assert not list(tmp_path.glob(".judge.*")), "nothing half written is left"
