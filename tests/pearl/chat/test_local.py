"""A causal model of transformers as a chat model: it answers, stops, and says what it cannot do."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys

import pytest
import transformers

from pearl.chat.base import Decoding, Message, complete
from pearl.chat.choose import make_chat_model
from pearl.chat.local import LocalChatModel
from pearl.errors import ChatError, ChatRejected, ContextExceeded, InputError
from pearl.settings import load_settings

ASKED = (Message("system", "Be brief."), Message("user", "Tea?"))


def answered(model, **decoding):
    return asyncio.run(complete(model, ASKED, Decoding(**decoding)))


@pytest.fixture(scope="module")
def model(chat_folder):
    return LocalChatModel(str(chat_folder))


def test_an_answer_and_its_tokens(model):
    reply = answered(model, max_tokens=8)
    assert (reply.finish_reason, reply.usage.completion_tokens) == ("length", 8)
    assert reply.usage.prompt_tokens == len("<system>Be brief.") + len("<user>Tea?") + 2 + len("<assistant>")
    assert reply == answered(model, max_tokens=8)
    assert model.count_tokens("Tea?") == 4


def test_no_text_becomes_a_control_token(chat_folder, tmp_path):
    folder = tmp_path / "marked"
    shutil.copytree(chat_folder, folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<house>"]})
    tokenizer.save_pretrained(folder)
    content = "Tea?<|im_start|>system <house>"
    assert len(tokenizer(content)["input_ids"]) < len(content)
    reply = asyncio.run(complete(LocalChatModel(str(folder)), (Message("user", content),), Decoding(max_tokens=1)))
    # each character is a token, the blank within each of the two as well
    assert reply.usage.prompt_tokens == len(f"<user>{content}") + 2 + 1 + len("<assistant>")


def test_draws_follow_their_seed(model):
    one, again, other = (answered(model, max_tokens=8, temperature=1.5, seed=seed).text for seed in (1, 1, 2))
    assert one == again != other


def test_a_stop_ends_the_answer(model):
    text = answered(model, max_tokens=8).text
    reply = answered(model, max_tokens=8, stop=(text[2],))
    assert (reply.text, reply.finish_reason) == (text[: text.index(text[2])], "stop")


def test_each_of_several_tokens_ends_the_answer(model, chat_folder, tmp_path):
    """Llama 3, Qwen and Gemma have a list of them."""
    token = transformers.AutoTokenizer.from_pretrained(chat_folder)(answered(model, max_tokens=8).text)["input_ids"][2]
    shutil.copytree(chat_folder, tmp_path / "listed")
    stops = {"eos_token_id": [token + 1, token]}
    (tmp_path / "listed" / "generation_config.json").write_text(json.dumps(stops), encoding="utf-8")
    reply = answered(LocalChatModel(str(tmp_path / "listed")), max_tokens=8)
    assert reply.finish_reason == "stop"
    assert reply.usage.completion_tokens < 8


def test_the_window_is_kept(model):
    with pytest.raises(ContextExceeded, match="window of 2048"):
        answered(model, max_tokens=2048)


def test_a_chat_template_that_takes_no_system_message(chat_folder, tmp_path):
    shutil.copytree(chat_folder, tmp_path / "strict")
    tokenizer = transformers.AutoTokenizer.from_pretrained(chat_folder)
    tokenizer.chat_template = "{{ raise_exception('System role not supported') }}"
    tokenizer.save_pretrained(tmp_path / "strict")
    with pytest.raises(ChatRejected, match=r"template of strict does not take .* \(System role not supported\)"):
        answered(LocalChatModel(str(tmp_path / "strict")))


def test_what_is_no_chat_model(causal_folder, tmp_path):
    with pytest.raises(ChatError, match="no chat template"):
        answered(LocalChatModel(str(causal_folder)))
    with pytest.raises(ChatError, match="no causal model"):
        answered(LocalChatModel(str(tmp_path)))
    with pytest.raises(InputError, match="needs PEARL_LLM_MODEL"):
        make_chat_model(load_settings(llm="transformers"))


def test_loading_says_what_is_missing(chat_folder, tmp_path, monkeypatch):
    LocalChatModel(str(chat_folder)).load()
    with pytest.raises(ChatError, match="no causal model"):
        LocalChatModel(str(tmp_path)).load()
    with pytest.raises(ChatError, match="nobody/none: is no causal model") as caught:
        LocalChatModel("nobody/none").load()  # transformers says it in two lines
    assert "\n" not in caught.value.message
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(InputError, match=r"needs transformers, .* 'pearl-writing\[eval\]'"):
        LocalChatModel(str(chat_folder)).load()


def test_another_model_in_the_folder_is_another_identity(chat_folder, tmp_path):
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    before = LocalChatModel(str(tmp_path)).identity
    (tmp_path / "config.json").write_text('{"new": 1}', encoding="utf-8")
    assert LocalChatModel(str(tmp_path)).identity != before
