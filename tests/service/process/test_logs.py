from __future__ import annotations

import json
import logging
import re

import pytest

from pearl.errors import InputError
from pearl.settings import load_settings
from service.process.logs import configure_logging

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


pytestmark = pytest.mark.usefixtures("logs_as_before")


def test_a_readable_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(load_settings())
    for name in ("pearl.access", "uvicorn.error"):
        logging.getLogger(name).info("up and %s", "running")
    first, second = capsys.readouterr().err.splitlines()
    assert re.fullmatch(f"{TIME} INFO pearl.access up and running", first)
    assert re.fullmatch(f"{TIME} INFO uvicorn.error up and running", second)


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(load_settings(log_format="json"))
    logging.getLogger("pearl.access").info("GET %d", 200, extra={"fields": {"status": 200}})
    try:
        raise ValueError
    except ValueError:
        logging.getLogger("uvicorn.error").exception("two\nlines")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert re.fullmatch(TIME, first.pop("time"))
    assert first == {"level": "info", "logger": "pearl.access", "message": "GET 200", "status": 200}
    assert (second["level"], second["message"]) == ("error", "two\nlines")
    assert "ValueError" in second["exception"]


def test_levels(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(load_settings(log_level="error"))
    logging.getLogger("pearl.access").warning("no")
    logging.getLogger("uvicorn.error").info("no")
    logging.getLogger("httpx2").info("no: some libraries log prompts")
    logging.getLogger("pearl").error("yes")
    assert re.fullmatch(f"{TIME} ERROR pearl yes\n", capsys.readouterr().err)


def test_another_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEARL_LOG_FORMAT", "xml")
    with pytest.raises(InputError, match="PEARL_LOG_FORMAT='xml'"):
        load_settings()
