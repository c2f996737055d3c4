"""What was deleted is in no object of the process any more: caches, indexes, prompts, answers."""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from pearl.models.chat.base import Chunk, Decoding, Message
from service.histories.embedding import BackgroundEmbedder, Precedence
from tests.fake_chat import FakeChatModel

# a look at every object touches what libraries call deprecated
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
TOGETHER = 1_000  # objects that are looked at in one go
PIECES = ("quag", "gamire")  # the marker itself stands nowhere in this module


class ForgetfulModel(FakeChatModel):
    """Keeps no call."""

    async def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        async for chunk in super().stream(messages, decoding):
            yield chunk
        self.calls.clear()


def holders(marker: str) -> list[str]:
    """The kinds of live objects that hold a text with the marker, or the text as bytes."""
    gc.collect()
    wanted = marker.encode()

    def texts_in(*objects: Any) -> list[Any]:
        return [
            held
            for held in gc.get_referents(*objects)
            if (isinstance(held, str) and marker in held) or (isinstance(held, bytes | bytearray) and wanted in held)
            if not (held is marker or held is wanted)
        ]

    everything = gc.get_objects()
    ours = sys._getframe().f_locals
    found = []
    for start in range(0, len(everything), TOGETHER):
        some = everything[start : start + TOGETHER]
        if texts_in(*some):
            found += [(holder, held) for holder in some if holder is not ours for held in texts_in(holder)]
    return [f"{type(holder).__name__}: {held[:80]!r}" for holder, held in found]


@pytest.fixture
def served(house: Any, make_artifact: Any, word_encoder: Any) -> Any:
    class Forgetful(word_encoder):  # type: ignore[misc]
        def encode_documents(self, texts: Sequence[str]) -> Any:
            vectors = super().encode_documents(texts)
            self.encoded.clear()
            return vectors

    artifact = make_artifact({"cosine_text": 1.0, "bm25_text": 1.0, "similar_copies": 1.0})
    return house(ForgetfulModel(), Forgetful(), retriever=str(artifact))


def use(served: Any, marker: str) -> Any:
    """Everything that a text can go through: added, ranked, shown, drafted from, answered, repeated, exported."""
    ann = served.as_user("ann")
    body = {"id": "secret", "text": f"Mind the {marker} by the door.", "request": f"Which {marker}?"}
    ann.post("/v1/documents", {"documents": [body, {"id": "other", "text": "Kettle's on."}]})
    embedder = BackgroundEmbedder(served.database, served.encoder, Precedence())
    while embedder.work_once():
        pass
    for headers in ({}, {"Idempotency-Key": "k"}, {"Idempotency-Key": "k"}):
        drafted = ann.post("/v1/drafts", {"request": "Where is the door?"}, headers=headers)
        assert marker in drafted.text
    ann.post("/v1/drafts", {"request": "Where is the door?", "stream": True})
    ann.post("/v1/rerank", {"query": "door", "documents": [body["text"]]})
    ann.post("/v1/documents", {"id": "secret", "text": f"{marker} again"})  # refused: there already
    assert marker in ann.get("/v1/documents").text
    assert marker in ann.get("/v1/export").text
    return ann


@pytest.mark.parametrize("path", ["/v1/documents/secret", "/v1/me"])
def test_no_live_object_holds_what_was_deleted(served: Any, path: str) -> None:
    marker = "".join(PIECES)
    ann = use(served, marker)
    assert holders(marker)  # the history that is kept for the next draft
    assert ann.delete(path).status_code == 204
    assert holders(marker) == []


def test_a_program_without_a_sweep_forgets_a_person_at_once(served: Any) -> None:
    marker = "".join(PIECES)
    use(served, marker)
    served.services.forget(served.user("ann").id)
    assert holders(marker) == []
