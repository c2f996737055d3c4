from __future__ import annotations

import os
import re
from dataclasses import replace

import pytest

from pearl.cli.options import LLM_OPTION
from pearl.errors import InputError
from pearl.models.chat.choose import calls_at_once, local_names, make_chat_model, unnamed_weights
from pearl.models.chat.endpoint import EndpointChatModel
from pearl.models.chat.gguf_chat import GgufChatModel
from pearl.models.weights import shelf, table
from pearl.models.weights.table import SMALLEST
from pearl.settings import ENGINES, Settings, load_settings


def test_the_embedded_model_is_made_without_loading_it():
    model = make_chat_model(load_settings(llm="embedded", llm_context_tokens=1024))
    assert isinstance(model, GgufChatModel)
    assert (model.name, model.context_tokens) == ("SmolLM2-135M-Instruct", 1024)
    assert "_parts" not in vars(model)


def test_an_endpoint():
    model = make_chat_model(load_settings(llm="openai", llm_model="m", llm_base_url="http://h/v1"))
    assert isinstance(model, EndpointChatModel)
    with pytest.raises(InputError, match="PEARL_LLM_MODEL"):
        make_chat_model(load_settings(llm="openai", llm_model=""))


def test_calls_at_once_of_an_endpoint_and_of_this_machine(monkeypatch):
    endpoint = load_settings(llm="openai", llm_model="m", llm_base_url="http://h/v1")
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    embedded = load_settings(llm="embedded")
    assert calls_at_once(endpoint, 64) == 64
    assert [calls_at_once(embedded, most) for most in (1, 3, 64)] == [1, 3, 4]


def test_each_engine_is_a_value_of_the_setting():
    assert [load_settings(llm=name).engine for name in ENGINES] == list(ENGINES)
    with pytest.raises(InputError, match="--llm 'magic'"):
        load_settings(llm="magic")
    description = Settings.model_fields["llm"].description or ""
    assert all(f"`{name}` ({engine.summary})" in description for name, engine in ENGINES.items())
    assert all(name in (LLM_OPTION.help or "") for name in ENGINES)


def test_the_names_of_a_model_on_this_machine():
    settings = load_settings(llm="embedded")
    name, identity = local_names(settings)
    assert name == "SmolLM2-135M-Instruct"
    assert re.fullmatch(rf"{name} \([0-9a-f]{{12}}\), on llama\.cpp, repeat penalty 1\.1 over 256 tokens", identity)


def test_where_no_model_is_named_the_default_writes_if_it_is_here(tmp_path, monkeypatch):
    default = replace(SMALLEST, name="better", bytes=4, parts=())
    monkeypatch.setattr(table, "TABLE", (SMALLEST, default))
    monkeypatch.setattr(shelf, "DEFAULT", "better")
    settings = load_settings(home=tmp_path)
    assert unnamed_weights(settings) is SMALLEST
    assert make_chat_model(settings).name == SMALLEST.name
    (tmp_path / "models").mkdir()
    file = tmp_path / "models" / "better.gguf"
    file.write_bytes(b"GGUF")
    assert unnamed_weights(settings) is default
    assert (type(make_chat_model(settings)), make_chat_model(settings).name) == (GgufChatModel, "better")
    named = load_settings(home=tmp_path, llm_model=SMALLEST.name)
    assert unnamed_weights(named) is None
    assert make_chat_model(named).name == SMALLEST.name
    assert unnamed_weights(load_settings(home=tmp_path, llm="openai", llm_model="far")) is None
    file.write_bytes(b"GGUF, changed")
    assert make_chat_model(settings).name == SMALLEST.name


def test_a_gguf_file_on_this_machine(tmp_path, tiny_gguf):
    path = tmp_path / "writer.gguf"
    path.write_bytes(tiny_gguf.read_bytes())
    model = make_chat_model(load_settings(llm="embedded", llm_model=str(path), llm_context_tokens=1024))
    assert (type(model), model.name) == (GgufChatModel, "writer")
    with pytest.raises(InputError, match=r"gone\.gguf: there is no such file; name a GGUF file"):
        make_chat_model(load_settings(llm="embedded", llm_model=str(tmp_path / "gone.gguf")))
    of_an_endpoint = load_settings(llm="embedded", llm_model="far", llm_base_url="http://127.0.0.1:1/v1")
    assert make_chat_model(of_an_endpoint).name == "SmolLM2-135M-Instruct"
