from __future__ import annotations

import pytest

from pearl.errors import InputError
from pearl.settings import load_settings
from pearl.text.shown_urls import without_secrets
from service.process.rate_limits import RateLimits
from service.store.database import Database


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://llm.example.org:8443/v1?v=2", "https://llm.example.org:8443/v1?v=2"),
        ("https://ann:pass@llm/v1", "https://***@llm/v1"),
        ("redis://:pa@ss@cache:6379/0 does not answer", "redis://***@cache:6379/0 does not answer"),
        ("unknown: 'postgres://ann:pa/s?s#@db/pearl'", "unknown: 'postgres://***@db/pearl'"),
        ("ann:pass@llm/v1", "***@llm/v1"),
        ("https://llm/v1?api-key=abc&token=d&v=2", "https://llm/v1?api-key=***&token=***&v=2"),
        ("memory://", "memory://"),
    ],
)
def test_passwords_and_keys_are_hidden(text, shown):
    assert without_secrets(text) == shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:open@SECRET@db/pearl",
        "postgresql://ann:SECRET@db:port/pearl",
        "ann:SECRET@db/pearl",
        "oracle://ann:SECRET@db/pearl",
    ],
)
def test_no_part_of_a_databases_password_is_in_an_error(url):
    with pytest.raises(InputError, match="PEARL_DATABASE_URL") as refused:
        Database(url)
    assert "SECRET" not in str(refused.value)
    assert "open@" not in str(refused.value)


@pytest.mark.parametrize("url", ["drawer://:SECRET@cache", "redis://:SECRET/x@cache", "redis://:SECRET@cache:port"])
def test_nor_of_the_rate_limits_storage(url):
    with pytest.raises(InputError, match="PEARL_RATE_LIMIT_STORAGE") as refused:
        RateLimits(load_settings(rate_limit_storage=url))
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("url", ["ann:SECRET@llm/v1", "http://ann:SECRET/x@llm/v1", "https://ann:SECRET@llm:port/v1"])
def test_nor_of_the_endpoint(url):
    with pytest.raises(InputError, match="is no address of an endpoint") as refused:
        load_settings(llm_base_url=url)
    assert "SECRET" not in str(refused.value)
    assert "SECRET" not in repr(load_settings(llm_base_url="https://ann:SECRET@llm/v1"))
