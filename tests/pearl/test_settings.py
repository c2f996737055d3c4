from __future__ import annotations

import os
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from pearl.errors import InputError
from pearl.settings import FILE, SERVED_INSTEAD, load_settings, settings_with


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch) -> None:
    for name in [name for name in os.environ if name.upper().startswith("PEARL_")]:
        monkeypatch.delenv(name)


def test_without_any_everything_is_embedded():
    settings = load_settings()
    assert not settings.uses_endpoint
    assert settings.encoder == "embedded"
    assert settings.resolved_database_url == f"sqlite:///{settings.home / 'pearl.db'}"
    assert settings.home.name == "pearl"


def test_a_tilde_is_the_persons_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PEARL_HOME", "~/drafts")
    assert load_settings().home == tmp_path / "drafts"
    monkeypatch.setenv("PEARL_HOME", "~no-such-user/drafts")
    with pytest.raises(InputError, match="PEARL_HOME='~no-such-user/drafts': begins with ~ and a name"):
        load_settings()


def test_the_environment_is_read(monkeypatch, tmp_path):
    monkeypatch.setenv("PEARL_HOME", str(tmp_path))
    monkeypatch.setenv("PEARL_LLM_TIMEOUT_S", "2.5")
    monkeypatch.setenv("pearl_retriever", "bm25")
    monkeypatch.setenv("PEARL_SOMETHING_ELSE", "is not ours to judge")
    settings = load_settings()
    assert (settings.home, settings.llm_timeout_s, settings.retriever) == (tmp_path, 2.5, "bm25")
    assert settings.resolved_database_url == f"sqlite:///{tmp_path}/pearl.db"


def test_what_is_passed_in_outranks_the_environment(monkeypatch):
    monkeypatch.setenv("PEARL_RETRIEVER", "bm25")
    assert load_settings(retriever="dense").retriever == "dense"
    assert load_settings(retriever=None).retriever == "bm25"


def test_a_file_in_the_home_is_read_after_options_and_environment(monkeypatch, tmp_path):
    (tmp_path / FILE).write_text('retriever = "dense"\nencoder = "mpnet"\nrevise_below = 0.5\nlikeness = true\n')
    monkeypatch.setenv("PEARL_HOME", str(tmp_path))
    monkeypatch.setenv("PEARL_RETRIEVER", "bm25")
    settings = load_settings(encoder="embedded")
    assert (settings.retriever, settings.encoder, settings.revise_below) == ("bm25", "embedded", "0.5")
    assert settings.likeness
    assert settings.origins == {
        "home": "PEARL_HOME",
        "retriever": "PEARL_RETRIEVER",
        "revise_below": FILE,
        "encoder": "--encoder",
        "likeness": FILE,
    }
    assert load_settings(home=tmp_path / "other").revise_below is None


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b'llm_modle = "m"', "{file}: llm_modle: is no setting; write llm_model, or take it out."),
        (b"colour = 1", "{file}: colour: is no setting; take it out."),
        (b'home = "there"', "{file}: home: PEARL_HOME says where this file lies; set it there."),
        (b'llm_timeout_s = "soon"', "pearl.toml in PEARL_HOME: llm_timeout_s = 'soon': Input should be a valid number"),
        (b"encoder = ['a']", "pearl.toml in PEARL_HOME: encoder = ['a']: Input should be a valid string"),
        (b"llm = 3", "pearl.toml in PEARL_HOME: llm = 3: there are auto, embedded, openai"),
        (b"llm_api_key = ['sk-1']", "pearl.toml in PEARL_HOME: llm_api_key = (hidden): "),
        (b"llm", "{file}: cannot be read as TOML: Expected '=' after a key"),
        (b'llm = "\xff"', "{file}: cannot be read as TOML: 'utf-8' codec can't decode byte 0xff"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_that_names_it_and_the_key(monkeypatch, tmp_path, content, complaint):
    (tmp_path / FILE).write_bytes(content)
    monkeypatch.setenv("PEARL_HOME", str(tmp_path))
    with pytest.raises(InputError) as caught:
        load_settings()
    assert caught.value.message.startswith(complaint.format(file=tmp_path / FILE))
    assert (caught.value.code, caught.value.exit_status) == ("invalid_setting", 2)
    assert "sk-1" not in caught.value.message


def test_a_command_within_another_takes_its_settings():
    with settings_with(encoder="mpnet", ray=None):
        assert load_settings().encoder == "mpnet"
        assert load_settings(encoder="other").encoder == "other"
    assert load_settings().encoder == "embedded"


def test_a_database_by_url():
    assert load_settings(database_url="postgresql://host/name").resolved_database_url == "postgresql://host/name"
    assert load_settings(database_url="", home=Path("/h")).resolved_database_url == "sqlite:////h/pearl.db"


@pytest.mark.parametrize("name", ["what?", "no. 1 # a", "50%41", "tea & milk+", "t\u00e9"])
def test_a_home_with_signs_that_mean_something_in_a_url(tmp_path, name):
    url = load_settings(home=tmp_path / name).resolved_database_url
    assert make_url(url).database == str(tmp_path / name / "pearl.db")
    assert not make_url(url).query


@pytest.mark.parametrize(
    ("given", "uses_endpoint"),
    [
        ({}, False),
        ({"llm_base_url": "http://localhost:1/v1"}, True),
        ({"llm_model": "m"}, True),
        ({"llm_api_key": "k"}, True),
        ({"llm_api_key": "", "llm_base_url": ""}, False),  # as a compose file passes what is not set
        ({"llm": "embedded", "llm_model": "m"}, False),
        ({"llm": "openai"}, True),
        ({"llm_model": "smollm2-135m-instruct"}, False),  # PEARL knows it
        ({"llm_model": "SmolLM2-135M-Instruct", "llm_base_url": "http://localhost:1/v1"}, True),
        ({"llm_model": "SmolLM2-135M-Instruct", "llm_api_key": "k"}, True),
    ],
)
def test_auto_uses_the_endpoint_that_is_set(given, uses_endpoint):
    assert load_settings(**given).uses_endpoint is uses_endpoint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PEARL_LLM", "gpt"),
        ("PEARL_LLM_BASE_URL", "localhost:11434/v1"),
        ("PEARL_LLM_BASE_URL", "http:///v1"),
        ("PEARL_LLM_MODEL", "m" * 201),
        ("PEARL_LLM_TIMEOUT_S", "0"),
        ("PEARL_LLM_TIMEOUT_S", "soon"),
        ("PEARL_RETRIEVAL_BUDGET_MS", "inf"),  # no clock of the system counts so far
        ("PEARL_LLM_CONTEXT_TOKENS", "12"),
        ("PEARL_RETRIEVER", ""),
        ("PEARL_ENCODER", ""),
        ("PEARL_REVISE_BELOW", "often"),
        ("PEARL_REVISE_BELOW", ""),
        ("PEARL_REVISE_BELOW", "nan"),
        ("PEARL_LLM_PRICES", "1"),
        ("PEARL_LLM_PRICES", "1,-2"),
        ("PEARL_LLM_PRICES", "1,nan"),
        ("PEARL_MAX_IN_FLIGHT", "0"),
        ("PEARL_RATE_LIMIT", "often"),
        ("PEARL_CORS_ORIGINS", "tool.example"),
        ("PEARL_CORS_ORIGINS", "https://a.example,https://tool.example/"),
        ("PEARL_CORS_ORIGINS", "https://*.example"),
        ("PEARL_CORS_ORIGINS", "https://Tool.example"),
        ("PEARL_LOG_LEVEL", "loud"),
        ("PEARL_LLM_TIMEOUT_S", ""),
        ("PEARL_EMBED_IN_BACKGROUND", "perhaps"),
    ],
)
def test_an_error_names_key_and_value(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError) as caught:
        load_settings()
    assert caught.value.message.startswith(f"{name}='{value}': ")
    assert "\n" not in caught.value.message
    assert (caught.value.code, caught.value.exit_status) == ("invalid_setting", 2)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("PEARL_HOME", "", "is empty; name a folder, or unset it for the platform's data folder"),
        ("PEARL_LLM", "embeded", "there are auto, embedded, openai"),
        ("PEARL_LLM", "transformers", SERVED_INSTEAD),
        ("PEARL_LIKENESS", "tru", "give true or false"),
        ("PEARL_RATE_LIMIT", "600/minut", "is no rate limit; write 600/minute or the like, or nothing for none"),
        ("PEARL_REVISE_BELOW", "nevr", "'nevr' is neither a number nor 'never' or 'all'"),
    ],
)
def test_an_error_says_what_would_do(monkeypatch, name, value, message):
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError) as caught:
        load_settings()
    assert caught.value.message == f"{name}='{value}': {message}"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("PEARL_RETRIEVR", "PEARL_RETRIEVER"),
        ("PEARL_DATABASE_ULR", "PEARL_DATABASE_URL"),
        ("PEARL_LMM", "PEARL_LLM"),
        ("PEARL_HOEM", "PEARL_HOME"),
        ("pearl_llm_modle", "PEARL_LLM_MODEL"),
        ("PEARL_EMBEDDED_CONTEXT_TOKENS", "PEARL_LLM_CONTEXT_TOKENS"),
    ],
)
def test_a_misspelt_setting_does_not_go_unheeded(monkeypatch, name, meant):
    monkeypatch.setenv(name, "1")
    with pytest.raises(InputError, match=f"{name} is no setting; write {meant}, or unset it"):
        load_settings()


def test_a_caller_that_repeats_calls_itself_asks_for_no_retries():
    assert load_settings().llm_max_retries == 2
    assert load_settings(llm_max_retries=0).llm_max_retries == 0


@pytest.mark.parametrize(
    "name", ["PEARL_PORT", "PEARL_SERVICE_HOST", "PEARL_PORT_8000_TCP", "PEARL_SHARED", "PEARL_KEY"]
)
def test_variables_of_other_programs_are_passed_over(monkeypatch, name):
    monkeypatch.setenv(name, "tcp://10.0.0.7:8000")
    assert load_settings().home.name == "pearl"


def test_every_error_at_once(monkeypatch):
    monkeypatch.setenv("PEARL_LLM", "gpt")
    monkeypatch.setenv("PEARL_LOG_LEVEL", "loud")
    with pytest.raises(InputError, match=r"PEARL_LLM='gpt'.*; PEARL_LOG_LEVEL='loud'"):
        load_settings()


def test_an_error_names_the_option_that_gave_the_value(monkeypatch):
    monkeypatch.setenv("PEARL_LLM", "auto")
    with pytest.raises(InputError, match=r"^--llm 'gpt': there are auto, embedded"):
        load_settings(llm="gpt", encoder=None)


def test_secrets_are_masked():
    settings = load_settings(llm_api_key="sk-secret", database_url="postgresql://u:s3cret@h/n")
    assert "secret" not in repr(settings) + str(settings)
    assert "s3cret" not in repr(settings) + str(settings)
    assert settings.llm_api_key is not None
    assert settings.llm_api_key.get_secret_value() == "sk-secret"
    with pytest.raises(InputError) as caught:
        load_settings(llm_api_key={"not": "sk-secret"})
    assert "sk-secret" not in caught.value.message


def test_no_rate_limit():
    assert load_settings(rate_limit="").rate_limit == ""


def test_origins_of_pages_extensions_and_files():
    load_settings(cors_origins="*")
    load_settings(
        cors_origins="http://localhost:3000, http://[::1]:80, chrome-extension://abc, app://obsidian.md, null"
    )


def test_origins_are_a_list():
    assert load_settings().cors_origin_list == []
    assert load_settings(cors_origins=" https://a.example, ,http://b:1 ").cors_origin_list == [
        "https://a.example",
        "http://b:1",
    ]


def test_settings_do_not_change():
    with pytest.raises(ValueError, match="frozen"):
        load_settings().llm = "openai"
