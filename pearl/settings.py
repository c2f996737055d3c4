"""All settings of a process. They come from command-line options, environment variables (``PEARL_*``) and the file
``pearl.toml`` in PEARL_HOME; of several values the first in this order counts.

``docs/configuration.md`` is generated from this module.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import platformdirs
from pydantic import Field, PrivateAttr, SecretStr, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from pearl.errors import InputError
from pearl.models.runtime.ray_workers import Cluster
from pearl.models.weights.table import in_table
from pearl.records import Prices
from pearl.text.shown_urls import without_secrets
from pearl.theta import read_theta

AUTO, EMBEDDED_ENGINE, ENDPOINT_ENGINE = "auto", "embedded", "openai"


class Engine(NamedTuple):
    """A way to run a chat model, which users choose by its name in ENGINES."""

    summary: str  # a noun phrase for help and settings
    maker: str  # module:function, imported when a model is made (pearl.models.chat.choose)


ENGINES = {
    EMBEDDED_ENGINE: Engine(
        "this machine: PEARL's default, or what PEARL_LLM_MODEL names", "pearl.models.chat.choose:embedded"
    ),
    ENDPOINT_ENGINE: Engine("any OpenAI-compatible endpoint", "pearl.models.chat.choose:endpoint"),
}
NO_ENGINE = "transformers"  # was one
SERVED_INSTEAD = "went: serve the folder with `transformers serve`, and name that address in PEARL_LLM_BASE_URL"
EMBEDDED = "embedded"
MPNET = "mpnet"
PREFIX = "PEARL_"
DEFAULT_RATE_LIMIT = "600/minute"
HTTP_ADDRESS = re.compile(r"https?://[^/?#\s]", re.IGNORECASE)
ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^\s/?#*A-Z]+")  # of a page, an extension or a file
MAX_RETRIES = 2  # of a failed call to the endpoint, the request unchanged, while there is time
WENT = {"PEARL_EMBEDDED_CONTEXT_TOKENS": "PEARL_LLM_CONTEXT_TOKENS"}
LEAST_ALIKE = 0.88  # one letter of a name like PEARL_LLM wrong, left out or swapped
FILE = "pearl.toml"  # in PEARL_HOME


class Settings(BaseSettings):
    """The configuration of one process. Build it with :func:`load_settings` for readable errors."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="ignore", frozen=True, allow_inf_nan=False, coerce_numbers_to_str=True
    )
    _llm_max_retries: int = PrivateAttr(MAX_RETRIES)
    _cluster: Cluster | None = PrivateAttr(None)
    _origins: Mapping[str, str] = PrivateAttr(default_factory=dict)

    home: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("pearl", appauthor=False)),
        description="Folder of the embedded database, keys, caches and models.",
    )
    database_url: str | None = Field(
        default=None,
        repr=False,  # it may hold a password
        description="SQLAlchemy URL of the database, e.g. `postgresql+psycopg://user:password@host/pearl`. "
        "Without it: SQLite in PEARL_HOME.",
    )

    llm: str = Field(
        default=AUTO,
        pattern=f"^({'|'.join((AUTO, *ENGINES))})$",
        description=", ".join(f"`{name}` ({engine.summary})" for name, engine in ENGINES.items()) + ", or `auto`: "
        "the endpoint if PEARL_LLM_BASE_URL or PEARL_LLM_API_KEY is set, or PEARL_LLM_MODEL to a name that PEARL does "
        "not know.",
    )
    llm_base_url: str | None = Field(
        default=None,
        repr=False,  # it may hold a password
        description="Base URL of the endpoint, usually ending in `/v1`.",
    )
    # not longer than the column in which each draft names its model
    llm_model: str | None = Field(
        default=None,
        max_length=200,
        description="Model name to send to the endpoint, or the name of a model that PEARL knows; with "
        "`PEARL_LLM=embedded` also one that you added, or a GGUF file of any architecture that llama.cpp knows. "
        "Without it this machine writes with the largest of PEARL's own that was fetched.",
    )
    llm_api_key: SecretStr | None = Field(default=None, description="API key of the endpoint.")
    mask_personal: bool = Field(
        default=False,
        description="Send placeholders in place of names, mail addresses, long numbers and links to an endpoint that "
        "is not on this machine, and put them back into its answers (docs/privacy.md).",
    )
    llm_timeout_s: float = Field(default=45.0, gt=0, description="Longest silence of the endpoint, seconds.")
    llm_budget_s: float = Field(
        default=55.0,
        gt=0,
        description="Longest wait of a draft for the endpoint in all, including its revision, repeated calls and "
        "`retry-after`, seconds. Below the 60 s after which usual proxies give up.",
    )
    llm_reasoning_tokens: int = Field(
        default=8192,
        ge=0,
        description="Tokens allowed on top of a draft's to a model whose hidden reasoning counts among them, which is "
        "learned from its answers.",
    )
    llm_context_tokens: int | None = Field(
        default=None,
        ge=256,
        description="Context window, tokens: of the endpoint's model, 8192 by default; given to one on this machine, "
        "4096 by default and at most what its file names.",
    )
    first_word_s: float = Field(
        default=10.0,
        ge=0,
        description="Seconds within which the embedded model begins to write: so many texts are shown to it, and so "
        "much of them, as it reads in that time, at its speed on this machine (`pearl doctor`); the request and the "
        "instructions stay whole. 0: as many as the context holds.",
    )
    max_draft_tokens: int = Field(
        default=512, ge=16, description="Longest draft, tokens; 512 is a little over 300 words."
    )
    llm_prices: str | None = Field(
        default=None,
        description="Prices of a million prompt and completion tokens, as `0.15,0.60`, for `--max-cost`, `--dry-run`.",
    )
    max_in_flight: int = Field(
        default=8,
        ge=1,
        le=1000,
        description="Calls under way at once where many are made; to the embedded model at most one per processor.",
    )
    ray: str | None = Field(
        default=None,
        min_length=1,
        description="Ray cluster that trains and measures: `HOST:PORT`, `auto` or `local`, then "
        "`,workers=N,cpus=N,gpus=SHARE` (docs/many-machines.md).",
    )

    retriever: str = Field(
        default=EMBEDDED,
        min_length=1,
        description="Ranks a user's history: an artifact's folder, or a retriever by name.",
    )
    retriever_force: bool = Field(
        default=False, description="Serve an artifact even if its training says not to use it."
    )
    revise_below: str | None = Field(
        default=None,
        description="Score below which a draft is revised: a number, `never` or `all`; by default what `pearl "
        "calibrate` chose for the user, else the retriever's trained threshold for this chat model.",
    )
    encoder: str = Field(
        default=EMBEDDED,
        min_length=1,
        description="Dense encoder: `embedded` (all-MiniLM-L6-v2 from a Python package), `mpnet` (all-mpnet-base-v2, "
        "needs the extra `mpnet`), or a sentence-transformers model name or folder. The first two learned English; for "
        "Chinese, Thai and the like name another (docs/drafting.md, Languages).",
    )
    retrieval_budget_ms: float = Field(
        default=1000.0,
        gt=0,
        description="Milliseconds of a retrieval, waiting included, after which the cross-encoder is left out, and "
        "texts without embeddings are ranked without them; the answer says so. A history that changed, or is not in "
        "memory, is indexed whole, however long that takes (docs/retrieval.md).",
    )
    drafts_at_once: int = Field(
        default=64,
        ge=1,
        description="Drafts that a worker process writes at once; more wait up to ten seconds, or are answered 503.",
    )
    drain_s: float = Field(
        default=0.0,
        ge=0,
        description="Seconds in which a server still answers after a signal to end (SIGTERM), while its "
        "`/health/ready` fails, so that a proxy that asks for that sends it no more.",
    )
    embed_in_background: bool = Field(
        default=True, description="Compute missing embeddings after an import, while no request waits."
    )

    reward_model: str | None = Field(
        default=None,
        min_length=1,
        description="Reward model that scores the writing quality of every draft: `embedded`, which learned from "
        "English, or a folder that `pearl train reward` wrote. Without it drafts have no `quality`, and `candidates` "
        "is an error.",
    )
    likeness: bool = Field(
        default=False,
        description="Say in every draft how likely it is that its owner wrote it: about 5 ms, and for the first draft "
        "after a change of the history some 40 ms for every 6,000 words of it.",
    )

    rate_limit: str = Field(
        default=DEFAULT_RATE_LIMIT,
        description="Requests allowed per key, in the notation of the `limits` library; empty for none.",
    )
    rate_limit_storage: str = Field(
        default="memory://",
        repr=False,  # it may hold a password
        description="Storage of the counts: `memory://` (each worker process counts for itself) or e.g. `redis://host` "
        "(needs the extra `redis`).",
    )
    sign_on: str | None = Field(
        default=None,
        description="TOML file that says which issuers' tokens (OpenID Connect) and which proxies' headers name users "
        "(docs/sign-on.md). Without it only keys do.",
    )
    cors_origins: str = Field(
        default="", description="Origins of browser pages that may call the API, separated by commas; `*` for any."
    )
    log_format: str = Field(
        default="text",
        pattern="^(text|json)$",
        description="Log lines, the server's own included: `text`, or `json`, one object a line.",
    )
    log_level: str = Field(default="info", pattern="^(debug|info|warning|error)$", description="Least severe log line.")

    @field_validator("llm", mode="before")
    @classmethod
    def _engine_that_went(cls, value: object) -> object:
        if value == NO_ENGINE:
            raise ValueError(SERVED_INSTEAD)
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        named = init_settings().get("home", env_settings().get("home"))
        home = cls.model_fields["home"].get_default(call_default_factory=True) if named is None else named
        return init_settings, env_settings, _file_of(settings_cls, home)

    @field_validator("llm_prices")
    @classmethod
    def _readable_prices(cls, value: str | None) -> str | None:
        Prices.read(value)
        return value

    @field_validator("rate_limit")
    @classmethod
    def _readable_limit(cls, value: str) -> str:
        if value and value != DEFAULT_RATE_LIMIT:  # the library takes long to load
            from limits import parse

            try:
                parse(value)
            except ValueError:
                raise ValueError("is no rate limit; write 600/minute or the like, or nothing for none") from None
        return value

    @field_validator("home", mode="before")
    @classmethod
    def _named_home(cls, value: object) -> object:
        if value == "":  # it would be the folder that one happens to be in
            raise ValueError("is empty; name a folder, or unset it for the platform's data folder")
        return value

    @field_validator("home")
    @classmethod
    def _expanded_home(cls, value: Path) -> Path:
        try:
            return value.expanduser()  # in quotes or a unit file no shell does it, and a folder "~" would be made
        except RuntimeError:
            raise ValueError("begins with ~ and a name that has no home here; name a folder") from None

    @field_validator("llm_base_url")
    @classmethod
    def _called_by_http(cls, value: str | None) -> str | None:
        try:
            usable = not value or (HTTP_ADDRESS.match(value) and urlsplit(value).port != 0)
        except ValueError:
            usable = False
        if not usable:
            raise ValueError("is no address of an endpoint; write it as http://HOST:PORT/v1 or https://HOST/v1")
        return value

    @field_validator("cors_origins")
    @classmethod
    def _as_browsers_send_them(cls, value: str) -> str:
        for origin in _listed(value):
            if not ORIGIN.fullmatch(origin):
                raise ValueError(f"{origin!r} is no origin; write https://HOST or http://HOST:PORT, without a path")
        return value

    @field_validator("revise_below")
    @classmethod
    def _readable_theta(cls, value: str | None) -> str | None:
        if value is not None:
            read_theta(value)
        return value

    @cached_property
    def resolved_database_url(self) -> str:
        return self.database_url or f"sqlite:///{quote(str(self.home / 'pearl.db'))}"

    @property
    def engine(self) -> str:
        """The name of the chat model's engine, ``auto`` resolved."""
        if self.llm != AUTO:
            return self.llm
        if self.llm_base_url or self.llm_api_key:
            return ENDPOINT_ENGINE
        return EMBEDDED_ENGINE if not self.llm_model or in_table(self.llm_model) else ENDPOINT_ENGINE

    @property
    def uses_endpoint(self) -> bool:
        return self.engine == ENDPOINT_ENGINE

    @property
    def llm_max_retries(self) -> int:
        """Times to repeat a failed call; 0 where :mod:`pearl.models.asking.patience` repeats it."""
        return self._llm_max_retries

    @property
    def prices(self) -> Prices:
        return Prices.read(self.llm_prices)

    @property
    def cluster(self) -> Cluster | None:
        """The cluster whose workers run the chat model; None where this process does."""
        return self._cluster

    @property
    def origins(self) -> dict[str, str]:
        """Return the origin of each setting without its default: the option, the variable or the file that set it."""
        return {
            name: self._origins.get(name, FILE) for name in type(self).model_fields if name in self.model_fields_set
        }

    def of_worker(self, home: Path) -> Settings:
        """Return the settings for a Ray worker. ``home``: the folder that holds the models on the worker's machine."""
        settings = self.model_copy(update={"home": home})
        settings._cluster = None
        return settings

    @property
    def cors_origin_list(self) -> list[str]:
        return _listed(self.cors_origins)


def _listed(value: str) -> list[str]:
    return [item.strip() for item in value.split(",") if item.strip()]


_GIVEN: ContextVar[Mapping[str, object]] = ContextVar("given", default=MappingProxyType({}))


@contextmanager
def settings_with(**values: object) -> Iterator[None]:
    """Make :func:`load_settings` use these values within the block, for a command that runs as a step of another."""
    before = _GIVEN.set(values)
    try:
        yield
    finally:
        _GIVEN.reset(before)


def load_settings(*, llm_max_retries: int | None = None, on_cluster: bool = False, **overrides: object) -> Settings:
    """Read the settings; ``overrides`` that are not None outrank the environment, which outranks the file.

    With ``on_cluster`` the chat model runs on the workers of the Ray cluster, if the settings name one. Raises
    InputError that names each invalid value with the reason, or a misspelt variable.
    """
    _refuse_misspelt(os.environ)
    given = {name: value for name, value in (dict(_GIVEN.get()) | overrides).items() if value is not None}
    origins = {name: variable for variable in os.environ if (name := _setting_of(variable)) in Settings.model_fields}
    origins |= {name: f"--{name.replace('_', '-')}" for name in given}
    try:
        settings = Settings(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        raise InputError(
            "; ".join(_explain(problem, origins) for problem in error.errors()), code="invalid_setting"
        ) from None
    settings._llm_max_retries = MAX_RETRIES if llm_max_retries is None else llm_max_retries
    settings._cluster = Cluster.read(settings.ray) if on_cluster and settings.ray else None
    settings._origins = origins
    return settings


def _setting_of(variable: str) -> str:
    """The name of the setting that an environment variable gives; empty if it gives none."""
    return variable.lower().removeprefix(PREFIX.lower()) if variable.upper().startswith(PREFIX) else ""


def _file_of(settings: type[BaseSettings], home: Any) -> TomlConfigSettingsSource:
    """Read the file of settings in PEARL_HOME, if there is one. Raises InputError that names the file, and the key that
    is no setting."""
    path = Path(home, FILE) if home else None
    try:
        source = TomlConfigSettingsSource(settings, path)
    except RuntimeError:  # a home that begins with ~ and an unknown name, which its validator refuses
        return TomlConfigSettingsSource(settings, None)
    except (ValueError, OSError) as error:  # no TOML, no UTF-8, or no right to read it
        raise InputError(f"{path}: cannot be read as TOML: {error}.", code="invalid_setting") from None
    for name in source.toml_data:
        if name == "home":
            raise InputError(
                f"{path}: home: PEARL_HOME says where this file lies; set it there.", code="invalid_setting"
            )
        if name not in settings.model_fields:
            near = get_close_matches(name.lower().removeprefix(PREFIX.lower()), settings.model_fields, n=1)
            instead = f"write {near[0]}, or take it out" if near else "take it out"
            raise InputError(f"{path}: {name}: is no setting; {instead}.", code="invalid_setting")
    return source


def _refuse_misspelt(names: Iterable[str]) -> None:
    """Raise InputError for a variable that is a misspelt setting, since it would have no effect. Other names that begin
    with PEARL_ are allowed: they may belong to other programs."""
    known = {f"{PREFIX}{name}".upper() for name in Settings.model_fields}
    for name in names:
        if not name.upper().startswith(PREFIX) or name.upper() in known:
            continue
        near = get_close_matches(name.upper(), known, n=1, cutoff=LEAST_ALIKE)
        if meant := WENT.get(name.upper()) or next(iter(near), None):
            raise InputError(f"{name} is no setting; write {meant}, or unset it.", code="invalid_setting")


def _explain(problem: ErrorDetails, origins: Mapping[str, str]) -> str:
    """The problem of a setting, under the name of the option or variable that gave it, or of its key in the file."""
    name = str(problem["loc"][0]) if problem["loc"] else "settings"
    shown = "(hidden)" if "key" in name else without_secrets(repr(problem.get("input")))
    message = without_secrets(problem["msg"].removeprefix("Value error, "))
    if problem["type"] == "string_pattern_mismatch":
        message = f"there are {problem['ctx']['pattern'].strip('^()$').replace('|', ', ')}"
    elif problem["type"] == "bool_parsing":
        message = "give true or false"
    origin = origins.get(name, f"{FILE} in PEARL_HOME: {name} = ")
    return f"{origin}{'' if name not in origins else ' ' if origin.startswith('--') else '='}{shown}: {message}"
