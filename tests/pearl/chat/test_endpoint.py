"""The real SDK against a real HTTP server whose answers are scripted."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest

from pearl.chat.base import Chunk, Decoding, Message, Reply, complete
from pearl.chat.endpoint import LONGEST_WAIT_S, EndpointChatModel
from pearl.errors import (
    ChatError,
    ChatInterrupted,
    ChatRateLimited,
    ChatRefused,
    ChatRejected,
    ChatTimeout,
    ContextExceeded,
    InputError,
    PearlError,
)
from pearl.records import Usage
from pearl.settings import load_settings

ASKED = [Message("system", "Be brief."), Message("user", "Größe? \U0001f600")]


def event(*, content: str | None = None, finish: str | None = None, **delta: Any) -> bytes:
    delta = {**({} if content is None else {"content": content}), **delta}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return data({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def data(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


USAGE = data({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}})
DONE = b"data: [DONE]\n\n"
WORDS = [event(role="assistant", content=""), event(content="Dear "), event(content="Bo."), event(content="")]
WHOLE = [*WORDS, event(finish="stop"), USAGE, DONE]


@dataclass(frozen=True)
class Answer:
    """What the server does with one call; ``then``: "end" properly, "cut" the connection, or "wait" for the client."""

    pieces: Sequence[bytes] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    then: str = "end"


def refusal(status: int, code: str | None = None, message: str = "secret words of a prompt", **headers: str) -> Answer:
    body = json.dumps({"error": {"message": message, "type": "t", "param": None, "code": code}}).encode()
    return Answer([body], status, {"content-type": "application/json", **headers})


@dataclass
class Endpoint:
    """A server that gives its answers in order, the last one for ever, and remembers the calls."""

    answers: list[Answer]
    address: str = ""
    calls: list[tuple[bytes, bytes]] = field(default_factory=list)  # head, body
    called: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)  # a client went away before the end

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            length = int(lengths[0].split(b":")[1]) if lengths else 0
            self.calls.append((head, await reader.readexactly(length)))
            self.called.set()
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            headers = {"content-type": "text/event-stream", **answer.headers}
            lines = [f"HTTP/1.1 {answer.status} X", *(f"{name}: {value}" for name, value in headers.items())]
            writer.write("\r\n".join([*lines, "transfer-encoding: chunked", "connection: close", "", ""]).encode())
            for piece in answer.pieces:
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()
            if answer.then == "wait":
                assert await reader.read(1) == b""
                self.left.set()
            elif answer.then == "end":
                writer.write(b"0\r\n\r\n")
        except ConnectionError:
            self.left.set()
        finally:
            writer.close()

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.calls]


Work = Callable[[EndpointChatModel, Endpoint], Awaitable[Any]]


@pytest.fixture
def talk() -> Callable[..., Any]:
    """Do some work with a model behind a server that answers so."""

    async def serve(work: Work, answers: Sequence[Answer], options: dict[str, Any]) -> Any:
        endpoint = Endpoint(list(answers))
        server = await asyncio.start_server(endpoint.handle, "127.0.0.1", 0)
        endpoint.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        model = EndpointChatModel(**{"model": "m", "base_url": endpoint.address, "max_retries": 0, **options})
        try:
            return await work(model, endpoint)
        finally:
            await model.close()
            server.close()
            await server.wait_closed()

    def run(work: Work, *answers: Answer, **options: Any) -> Any:
        return asyncio.run(asyncio.wait_for(serve(work, answers, options), 20))

    return run


async def ask(model: EndpointChatModel, endpoint: Endpoint) -> Reply:
    return await complete(model, ASKED, Decoding(max_tokens=9))


def asking(kind: type[PearlError]) -> Callable[[EndpointChatModel, Endpoint], Awaitable[Any]]:
    """Ask, and give the error and the endpoint back."""

    async def work(model: EndpointChatModel, endpoint: Endpoint) -> Any:
        with pytest.raises(kind) as caught:
            await ask(model, endpoint)
        assert type(caught.value) is kind
        assert "secret" not in caught.value.message  # an endpoint's words may quote the prompt
        return caught.value, endpoint

    return work


def test_an_answer_arrives_in_pieces_and_ends_with_the_usage(talk):
    async def work(model: EndpointChatModel, endpoint: Endpoint) -> list[Chunk]:
        return [chunk async for chunk in model.stream(ASKED, Decoding())]

    assert talk(work, Answer(WHOLE)) == [
        Chunk("Dear "),
        Chunk("Bo."),
        Chunk(finish_reason="stop", usage=Usage(7, 3)),
    ]


def test_what_is_sent(talk):
    async def work(model: EndpointChatModel, endpoint: Endpoint) -> Endpoint:
        await complete(model, ASKED, Decoding(max_tokens=9, temperature=0.5, top_p=0.25, stop=("</document>",)))
        await complete(model, ASKED, Decoding())
        return endpoint

    endpoint = talk(work, Answer(WHOLE), api_key="sk-1")
    head = endpoint.calls[0][0]
    assert head.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
    assert b"authorization: bearer sk-1" in head.lower()
    first, second = endpoint.bodies
    assert first == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Größe? \U0001f600"}],
        "max_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.25,
        "stop": ["</document>"],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert "stop" not in second
    assert (second["temperature"], second["top_p"]) == (0, 1)


def test_pieces_come_as_they_are_written_not_at_the_end(talk):
    async def work(model: EndpointChatModel, endpoint: Endpoint) -> None:
        async with aclosing(model.stream(ASKED, Decoding())) as chunks:
            assert (await anext(chunks)).text == "Dear "
            assert (await anext(chunks)).text == "Bo."
            assert not endpoint.left.is_set()

    talk(work, Answer(WORDS, then="wait"))


def test_events_split_anywhere(talk):
    stream = b"".join(WHOLE)
    assert talk(ask, Answer([stream[at : at + 7] for at in range(0, len(stream), 7)])).text == "Dear Bo."


def test_comments_and_unknown_events_are_passed_over(talk):
    noise = [b": keep-alive\n\n", b"event: ping\ndata: {}\n\n", data({"choices": [{}]}), data({"choices": None})]
    assert talk(ask, Answer([*noise, *WHOLE])).text == "Dear Bo."


@pytest.mark.parametrize(
    ("reason", "shown"), [("stop", "stop"), ("length", "length"), ("tool_calls", "stop"), ("eos", "stop")]
)
def test_why_it_stopped(talk, reason, shown):
    assert talk(ask, Answer([*WORDS, event(finish=reason), DONE])) == Reply("Dear Bo.", shown, Usage())


def test_usage_within_the_last_piece(talk):
    """As some servers send it, and again and again."""
    last = json.loads(event(finish="stop")[6:])
    pieces = [data({**last, "usage": {"prompt_tokens": count, "completion_tokens": None}}) for count in (1, 8)]
    assert talk(ask, Answer([*WORDS, *pieces, DONE])).usage == Usage(8, 0)


@pytest.mark.parametrize(("sent", "tokens"), [(12.0, 12), ("12", 0), (float("nan"), 0), (True, 1), ([], 0)])
def test_odd_counts_of_tokens(talk, sent, tokens):
    usage = {"prompt_tokens": sent, "completion_tokens": 3}
    last = data({**json.loads(event(finish="stop")[6:]), "usage": usage})
    found = talk(ask, Answer([*WORDS, last])).usage
    assert found == Usage(tokens, 3)
    assert type(found.prompt_tokens) is int


def test_a_call_over_the_rate_limit_is_repeated_unchanged(talk):
    async def work(model: EndpointChatModel, endpoint: Endpoint) -> tuple[Reply, Endpoint, float]:
        started = time.monotonic()
        return await ask(model, endpoint), endpoint, time.monotonic() - started

    limited = refusal(429, **{"retry-after": "0.3"})
    reply, endpoint, took = talk(work, limited, limited, Answer(WHOLE), max_retries=2)
    assert reply.text == "Dear Bo."
    assert len(endpoint.calls) == 3
    assert len({body for _, body in endpoint.calls}) == 1
    assert took >= 2 * 0.3


def test_a_server_error_is_repeated_unchanged(talk):
    async def work(model: EndpointChatModel, endpoint: Endpoint) -> tuple[Reply, Endpoint]:
        return await ask(model, endpoint), endpoint

    reply, endpoint = talk(work, refusal(503, **{"retry-after": "0.01"}), Answer(WHOLE), max_retries=1)
    assert reply.text == "Dear Bo."
    assert len({body for _, body in endpoint.calls}) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("0.01", 1.0), ("7", 7.0), ("7.5", 7.5), ("", 1.0), ("soon", 1.0), ("inf", 1.0), ("nan", 1.0), ("1e9", 3600.0)],
)
def test_over_the_rate_limit_for_ever(talk, header, seconds):
    error, endpoint = talk(asking(ChatRateLimited), refusal(429, **{"retry-after": header}))
    assert (error.retry_after, error.code, error.http_status) == (seconds, "llm_rate_limited", 503)
    assert len(endpoint.calls) == 1
    assert seconds <= LONGEST_WAIT_S


def test_it_gives_up_after_the_retries(talk):
    error, endpoint = talk(asking(ChatRateLimited), refusal(429, **{"retry-after": "0.01"}), max_retries=2)
    assert error.retry_after == 1.0
    assert len(endpoint.calls) == 3


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (refusal(500), ChatError, "llm_error"),
        (refusal(503), ChatError, "llm_error"),
        (refusal(401, "invalid_api_key"), ChatError, "llm_key_refused"),
        (refusal(403), ChatError, "llm_key_refused"),
        (refusal(404, "model_not_found"), ChatError, "llm_not_found"),
        *((refusal(status), ChatRejected, "llm_rejected") for status in (400, 405, 413, 422, 451)),
        *((refusal(status), ChatError, "llm_error") for status in (408, 409, 425)),
        (refusal(400, "content_filter"), ChatRefused, "llm_content_filter"),
        (refusal(400, "context_length_exceeded"), ContextExceeded, "context_length_exceeded"),
        (Answer([b"<html>Bad gateway</html>"], 502, {"content-type": "text/html"}), ChatError, "llm_error"),
        (Answer([b"secret"], 418), ChatRejected, "llm_rejected"),
    ],
)
def test_a_refused_call(talk, answer, kind, code):
    error, endpoint = talk(asking(kind), answer)
    assert error.code == code
    assert ("try again later" in error.message) == (code == "llm_error")
    assert len(endpoint.calls) == 1


def test_a_rejected_request_names_the_status(talk):
    error, _ = talk(asking(ChatRejected), refusal(422))
    assert "rejected this request with status 422" in error.message
    assert error.http_status == 502


@pytest.mark.parametrize(
    ("pieces", "then", "kind", "code"),
    [
        (WORDS, "cut", ChatInterrupted, "llm_interrupted"),
        (WORDS, "end", ChatInterrupted, "llm_interrupted"),  # no finish reason
        ([*WORDS, DONE], "end", ChatInterrupted, "llm_interrupted"),
        ([*WORDS, b'data: {"choices": [{"del'], "cut", ChatInterrupted, "llm_interrupted"),
        ([*WORDS, b"data: {nonsense\n\n"], "end", ChatInterrupted, "llm_interrupted"),
        ([*WORDS, data({"error": {"message": "secret", "code": 500}})], "end", ChatInterrupted, "llm_interrupted"),
        ([], "cut", ChatInterrupted, "llm_interrupted"),
        ([event(refusal="No, secret.")], "end", ChatRefused, "llm_refused"),
        ([*WORDS, event(finish="content_filter"), DONE], "end", ChatRefused, "llm_content_filter"),
        ([], "end", ChatError, "llm_unreadable"),
        ([b"<html><body>secret</body></html>"], "end", ChatError, "llm_unreadable"),
        ([b'{"choices": [{"message": {"content": "secret"}}]}'], "end", ChatError, "llm_unreadable"),
        ([data({"hello": "world"}), DONE], "end", ChatError, "llm_unreadable"),
        ([data([1, 2]), data("text"), DONE], "end", ChatError, "llm_unreadable"),
    ],
)
def test_an_answer_that_is_none(talk, pieces, then, kind, code):
    error, _ = talk(asking(kind), Answer(pieces, then=then))
    assert error.code == code


def test_what_arrived_before_it_broke_off_was_handed_on(talk):
    texts = []

    async def work(model: EndpointChatModel, endpoint: Endpoint) -> None:
        async for chunk in model.stream(ASKED, Decoding()):
            texts.append(chunk.text)

    with pytest.raises(ChatInterrupted):
        talk(work, Answer(WORDS, then="cut"))
    assert texts == ["Dear ", "Bo."]


def test_an_answer_that_broke_off_is_not_asked_for_again(talk):
    _, endpoint = talk(asking(ChatInterrupted), Answer(WORDS, then="cut"), max_retries=2)
    assert len(endpoint.calls) == 1


def test_an_empty_answer_is_for_the_pipeline_to_judge(talk):
    assert talk(ask, Answer([event(content=""), event(finish="stop"), USAGE, DONE])) == Reply("", "stop", Usage(7, 3))


@pytest.mark.parametrize("pieces", [(), WORDS])
def test_it_takes_too_long(talk, pieces):
    error, _ = talk(asking(ChatTimeout), Answer(pieces, then="wait"), timeout_s=0.2)
    assert "0.2 s" in error.message
    assert (error.code, error.http_status) == ("llm_timeout", 504)


def test_nobody_listens(talk):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        error, _ = talk(asking(ChatError), Answer(), base_url=address)
    assert error.code == "llm_unreachable"
    assert "PEARL_LLM_BASE_URL" in error.message


@pytest.mark.parametrize("address", ["nonsense", "http://", "ftp://127.0.0.1/v1", "http://nowhere.invalid/v1"])
def test_an_address_that_is_none(talk, address):
    error, _ = talk(asking(ChatError), Answer(), base_url=address)
    assert error.code == "llm_unreachable"


def test_leaving_early_closes_the_connection(talk):
    async def work(model: EndpointChatModel, endpoint: Endpoint) -> None:
        async with aclosing(model.stream(ASKED, Decoding())) as chunks:
            await anext(chunks)
        await asyncio.wait_for(endpoint.left.wait(), 5)

    talk(work, Answer(WORDS, then="wait"))


@pytest.mark.parametrize("pieces", [(), WORDS])
def test_a_cancelled_call_closes_the_connection(talk, pieces):
    async def work(model: EndpointChatModel, endpoint: Endpoint) -> None:
        call = asyncio.create_task(ask(model, endpoint))
        await endpoint.called.wait()
        await asyncio.sleep(0.05)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(endpoint.left.wait(), 5)

    talk(work, Answer(pieces, then="wait"))


def test_many_calls_at_once(talk):
    async def work(model: EndpointChatModel, endpoint: Endpoint) -> list[Reply]:
        return await asyncio.gather(*(ask(model, endpoint) for _ in range(50)))

    assert {reply.text for reply in talk(work, Answer(WHOLE))} == {"Dear Bo."}


def test_from_settings():
    settings = load_settings(llm_model="m", llm_base_url="http://h/v1", llm_api_key="sk-1", llm_context_tokens=512)
    model = EndpointChatModel.from_settings(settings)
    assert (model.name, model.context_tokens) == ("m", 512)
    with pytest.raises(InputError, match="PEARL_LLM_MODEL") as caught:
        EndpointChatModel.from_settings(load_settings(llm_base_url="http://h/v1", llm_model=""))
    assert caught.value.code == "invalid_setting"


def test_counts_err_upwards():
    model = EndpointChatModel(model="m", base_url="http://h/v1")
    assert [model.count_tokens(text) for text in ("", "a", "abc", "abcd", "日本", "\U0001f600")] == [0, 1, 1, 2, 2, 2]


def whole(content: str | None = "Dear Bo.", finish: str | None = "stop", **fields: Any) -> Answer:
    """An answer in one piece."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **fields}, "finish_reason": finish}
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    return in_one_piece({"choices": [choice], "usage": usage})


def in_one_piece(value: Any) -> Answer:
    return Answer([json.dumps(value).encode()], headers={"content-type": "application/json"})


async def ask_at_once(model: EndpointChatModel, endpoint: Endpoint) -> tuple[Reply, Endpoint]:
    return await model.answer(ASKED, Decoding(max_tokens=9, stop=("x",))), endpoint


def test_a_whole_answer_at_once(talk):
    reply, endpoint = talk(ask_at_once, whole())
    assert reply == Reply("Dear Bo.", "stop", Usage(7, 3))
    (body,) = endpoint.bodies
    assert (body["max_tokens"], body["stop"]) == (9, ["x"])
    assert not body.keys() & {"stream", "stream_options", "seed"}


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (whole(None), Reply("", "stop", Usage(7, 3))),
        (whole(finish="length"), Reply("Dear Bo.", "length", Usage(7, 3))),
        (whole(finish=None), Reply("Dear Bo.", "stop", Usage(7, 3))),
        (in_one_piece({"choices": [{"message": {"content": "Yes."}}]}), Reply("Yes.", "stop", Usage())),
    ],
)
def test_whole_answers_of_other_shapes(talk, answer, reply):
    assert talk(ask_at_once, answer)[0] == reply


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (whole(None, refusal="No, secret."), ChatRefused, "llm_refused"),
        (whole(finish="content_filter"), ChatRefused, "llm_content_filter"),
        (in_one_piece({"choices": []}), ChatError, "llm_unreadable"),
        (in_one_piece({"hello": "secret"}), ChatError, "llm_unreadable"),
        (in_one_piece([1]), ChatError, "llm_unreadable"),
        (Answer([b"<html>secret</html>"], headers={"content-type": "text/html"}), ChatError, "llm_unreadable"),
        (refusal(429, **{"retry-after": "7"}), ChatRateLimited, "llm_rate_limited"),
        (refusal(400, "context_length_exceeded"), ContextExceeded, "context_length_exceeded"),
        (Answer([b'{"choices": [{"mess'], headers={"content-type": "application/json"}, then="cut"), ChatError, None),
        (Answer(then="wait"), ChatTimeout, "llm_timeout"),
    ],
)
def test_a_whole_answer_that_is_none(talk, answer, kind, code):
    async def work(model: EndpointChatModel, endpoint: Endpoint) -> PearlError:
        with pytest.raises(kind) as caught:
            await model.answer(ASKED, Decoding())
        return caught.value

    error = talk(work, answer, timeout_s=0.5)
    assert code in (None, error.code)
    assert "secret" not in error.message


MODELS = in_one_piece({"object": "list", "data": [{"id": "m", "object": "model"}]})


async def check(model: EndpointChatModel, endpoint: Endpoint) -> Endpoint:
    await model.check()
    return endpoint


@pytest.mark.parametrize(
    "answer",
    [MODELS, Answer([b"ok"], headers={"content-type": "text/plain"}), refusal(404), refusal(405), refusal(429)],
)
def test_an_endpoint_that_is_there(talk, answer):
    endpoint = talk(check, answer, api_key="sk-1")
    ((head, body),) = endpoint.calls
    assert head.startswith(b"GET /v1/models HTTP/1.1\r\n")
    assert b"authorization: bearer sk-1" in head.lower()
    assert body == b""


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (refusal(401), "llm_key_refused"),
        (refusal(403), "llm_key_refused"),
        (refusal(500), "llm_error"),
        (refusal(503), "llm_error"),
        (Answer(then="wait"), "llm_timeout"),
    ],
)
def test_an_endpoint_that_would_not_answer(talk, answer, code):
    async def work(model: EndpointChatModel, endpoint: Endpoint) -> tuple[PearlError, Endpoint]:
        with pytest.raises(ChatError) as caught:
            await model.check()
        return caught.value, endpoint

    error, endpoint = talk(work, answer, timeout_s=0.3, max_retries=2)
    assert error.code == code
    assert len(endpoint.calls) == 1  # a probe is not repeated


def test_a_check_where_nobody_listens(talk):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with pytest.raises(ChatError) as caught:
            talk(check, Answer(), base_url=address)
    assert caught.value.code == "llm_unreachable"
