from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from pearl.errors import InputError, NotFound, StoreError
from pearl.models.chat.speed import Speed
from pearl.models.prompts import first_message
from pearl.settings import load_settings
from pearl.text.templates import DEFAULT_TEMPLATE, load_template
from service.http.app import create_app
from service.services import Services
from tests.fake_chat import FakeChatModel


@pytest.mark.parametrize(
    "options",
    [
        {"database_url": "mysql://host/db"},
        {"rate_limit_storage": "nonsense://"},
        {"llm": "openai", "llm_model": None},
        {"retriever": "magic"},
    ],
)
def test_settings_that_cannot_be_used_stop_the_start(tmp_path: Any, options: Any) -> None:
    with pytest.raises(InputError):
        create_app(load_settings(home=tmp_path, **{"database_url": None, **options}))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("magic", "there is no such retriever; there are embedded, bm25, "),
        ("magic", "fusion, random, recent and folders of artifacts."),
        ("likelihood", "reads for seconds on all cores"),
        ("/", "is not an artifact"),
        ("./nowhere", "is not an artifact"),
    ],
)
def test_a_retriever_that_cannot_be_used_is_named_with_its_setting(tmp_path: Any, name: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        Services(load_settings(home=tmp_path, database_url=None, retriever=name))
    assert caught.value.message.startswith(f"PEARL_RETRIEVER='{name}': ")
    assert said in caught.value.message
    assert (caught.value.code, caught.value.exit_status) == ("invalid_setting", 2)


def test_an_artifact_of_another_encoder_stops_the_start(tmp_path: Any, make_artifact: Any, word_encoder: Any) -> None:
    settings = load_settings(home=tmp_path, database_url=None, retriever=str(make_artifact()))
    with pytest.raises(InputError, match=r"PEARL_RETRIEVER=.*trained with the encoder 'words', not with 'others'"):
        Services(settings, encoder=word_encoder("others"))


def test_an_artifact_that_is_not_to_be_used_is_served_by_force_alone(
    tmp_path: Any, house: Any, make_artifact: Any, word_encoder: Any
) -> None:
    name = str(make_artifact(do_not_use=("7 scored requests to choose by, fewer than 30",)))
    with pytest.raises(InputError) as caught:
        Services(load_settings(home=tmp_path, database_url=None, retriever=name), encoder=word_encoder())
    assert caught.value.message == (
        f"PEARL_RETRIEVER='{name}': its training says not to use it (7 scored requests to choose by, fewer than 30); "
        "train on more, or set PEARL_RETRIEVER_FORCE=1."
    )
    assert (caught.value.code, caught.value.exit_status) == ("do_not_use", 2)
    forced = house(retriever=name, retriever_force=True, encoder=word_encoder()).services
    assert forced.retriever().origin.startswith("Do not use this artifact: 7 scored requests")


@pytest.mark.parametrize(
    ("by_hand", "theta"),
    [(None, "theta 0.25"), ("0.75", "theta 0.75"), ("never", "never revises"), ("all", "theta all")],
)
def test_the_start_says_in_a_line_what_the_retriever_decides(
    house: Any,
    make_artifact: Any,
    word_encoder: Any,
    until: Any,
    caplog: pytest.LogCaptureFixture,
    by_hand: str | None,
    theta: str,
) -> None:
    """Theta for the chat model that is served; the figures of the training say nothing to whoever serves."""
    decides = {"thresholds": {"fake": 0.25, "other": 9.0}, "threshold": 9.0, "margin": 0.5}
    name = str(
        make_artifact(do_not_use=("too little",), figures={"top1_gain": {"value": 1, "low": 0, "high": 2}}, **decides)
    )
    with caplog.at_level(logging.INFO, "pearl.service"):
        services = house(retriever=name, retriever_force=True, encoder=word_encoder(), revise_below=by_hand).services
        until(services.loaded.is_set)
    assert [record.getMessage() for record in caplog.records][:2] == [
        "do not use the retriever 'tiny': too little",
        f"the retriever 'tiny' with '{services.model.name}': {theta}, shows what scores within 0.50 of the best",
    ]


def test_retrievers_by_name(pearl: Any) -> None:
    assert pearl.services.retriever().name == "fusion"
    assert pearl.services.retriever("bm25").name == "bm25"
    with pytest.raises(NotFound):
        pearl.services.retriever("oracle")


@pytest.mark.parametrize(
    ("retriever", "needed"),
    [("fusion", True), ("dense", True), ("artifact", True), ("bm25", False), ("random", False), ("recent", False)],
)
def test_the_encoder_is_loaded_where_it_is_needed(
    house: Any, word_encoder: Any, until: Any, make_artifact: Any, retriever: str, needed: bool
) -> None:
    loaded = threading.Event()

    class Loading(word_encoder):  # type: ignore[misc]
        def load(self) -> None:
            loaded.set()

    name = str(make_artifact()) if retriever == "artifact" else retriever
    services = house(encoder=Loading(), retriever=name).services
    until(services.loaded.is_set)
    assert loaded.is_set() == needed


def test_what_most_prompts_begin_with_is_read_when_the_models_are_loaded(
    house: Any, until: Any, caplog: pytest.LogCaptureFixture
) -> None:
    read = []

    class Slow(FakeChatModel):
        def read_ahead(self, begin: Any, left: Any) -> Speed:
            read.append((begin, left()))
            return Speed(600, 20, 100, 10)

    caplog.set_level(logging.INFO, "pearl")
    services = house(Slow()).services
    until(lambda: "the model fake reads 30 and writes 10.0 tokens a second" in caplog.text)
    assert read == [([first_message(load_template(DEFAULT_TEMPLATE))], False)]
    assert services.loaded.is_set()


def test_what_is_loaded_after_the_end_begins_nothing(
    house: Any, word_encoder: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The end waits for what is being loaded: native code must not come back to an interpreter that is gone. It is not
    logged then, and no texts are embedded."""
    loading, go_on = threading.Event(), threading.Event()

    class Slow(word_encoder):  # type: ignore[misc]
        def load(self) -> None:
            loading.set()
            assert go_on.wait(60)

    async def stop(services: Services) -> None:
        stopping = asyncio.create_task(services.stop())
        await asyncio.sleep(0.05)
        assert not stopping.done()
        go_on.set()
        await stopping

    caplog.set_level(logging.INFO, "pearl")
    services = house(encoder=Slow(), embed_in_background=True).services
    (loader,) = (thread for thread in threading.enumerate() if thread.name == "loader")
    assert loading.wait(60)
    asyncio.run(stop(services))
    assert not loader.is_alive()
    assert not services.loaded.is_set()
    assert caplog.messages == []


def test_stopping_does_not_hold_up_the_loop(tmp_path: Any, sqlite_url: str, word_encoder: Any, until: Any) -> None:
    """The embedder may be in the middle of a batch; open answers go on meanwhile."""
    at_work, go_on = threading.Event(), threading.Event()
    encoder = word_encoder()

    def wait() -> None:
        at_work.set()
        assert go_on.wait(60)

    encoder.before = wait
    settings = load_settings(home=tmp_path, database_url=sqlite_url, retriever="fusion")
    services = Services(settings, model=FakeChatModel(), encoder=encoder)
    from service.store import documents, users
    from service.store.documents import Addition, Document

    with services.database.write() as connection:
        ann = users.ensure(connection, {"ann"})["ann"]
        documents.add(connection, [Addition(ann.id, Document("a", "One."))])

    async def stop() -> None:
        stopping = asyncio.create_task(services.stop())
        await asyncio.sleep(0.05)
        assert not stopping.done()
        go_on.set()
        await stopping

    services.start()
    assert at_work.wait(60)
    asyncio.run(stop())


def test_sweeping_goes_on_after_whatever_goes_wrong(
    tmp_path: Any, sqlite_url: str, monkeypatch: Any, caplog: Any
) -> None:
    monkeypatch.setattr("service.services.SWEEP_S", 0.001)
    services = Services(load_settings(home=tmp_path, database_url=sqlite_url), model=FakeChatModel())
    errors = [StoreError("The database is locked."), ValueError("Dear diary"), ValueError("Dear diary")]
    swept = threading.Event()

    def sweep() -> None:
        if errors:
            raise errors.pop()
        swept.set()

    async def keep_swept() -> None:
        sweeping = asyncio.create_task(services.keep_swept())
        assert await asyncio.to_thread(swept.wait, 60)
        sweeping.cancel()

    monkeypatch.setattr(services, "sweep", sweep)
    asyncio.run(keep_swept())
    said = [message.splitlines()[0] for message in caplog.messages]
    assert said == ["sweeping failed: ValueError"] * 2 + ["sweeping: The database is locked."]
    assert "diary" not in caplog.text


def test_a_sweep_under_way_ends_before_the_database_is_closed(tmp_path: Any, sqlite_url: str, monkeypatch: Any) -> None:
    services = Services(load_settings(home=tmp_path, database_url=sqlite_url), model=FakeChatModel())
    begun, go_on = threading.Event(), threading.Event()
    happened = []

    def sweep() -> None:
        begun.set()
        go_on.wait(60)
        happened.append("swept")

    async def stop_in_the_middle() -> None:
        sweeping = asyncio.create_task(services.keep_swept())
        await asyncio.to_thread(begun.wait, 60)
        sweeping.cancel()
        asyncio.get_running_loop().call_later(0.05, go_on.set)
        await asyncio.wait((sweeping,))
        happened.append("stopped")

    monkeypatch.setattr(services, "sweep", sweep)
    asyncio.run(stop_in_the_middle())
    assert happened == ["swept", "stopped"]
