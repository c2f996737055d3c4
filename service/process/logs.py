"""Logs on standard error, a line per event, with those of uvicorn: as text for people, or as JSON for machines."""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import UTC, datetime

import orjson

from pearl.settings import Settings

SERVER = "uvicorn"


class TextFormatter(logging.Formatter):
    """Formats an entry as ``2026-03-01T09:30:00.125Z INFO pearl.access GET /health 200 ...``."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        return _time(record)


class JsonFormatter(logging.Formatter):
    """Formats an entry as a JSON object on one line, with the record's ``fields`` next to its message."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def configure_logging(settings: Settings) -> None:
    """Set up the logs. Libraries log only warnings and errors: some would log prompts."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    for name in ("pearl", SERVER):
        logging.getLogger(name).setLevel(settings.log_level.upper())


def code_lines(error: BaseException) -> str:
    """The lines of code that an error came through, without its message, which may quote a text or a prompt."""
    return "".join(traceback.format_tb(error.__traceback__))


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
