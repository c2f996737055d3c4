from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def document(pearl: Any) -> Any:
    answer = pearl.client.get("/openapi.json")
    assert answer.status_code == 200
    return answer.json()


def operations(document: Any) -> Iterator[tuple[str, Any]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def fields(document: Any) -> Iterator[tuple[str, Any]]:
    for name, schema in document["components"]["schemas"].items():
        for field, described in schema.get("properties", {}).items():
            yield f"{name}.{field}", described


def test_every_route_says_what_it_does(document: Any) -> None:
    assert [name for name, operation in operations(document) if not operation.get("summary")] == []
    assert [name for name, operation in operations(document) if not operation.get("tags")] == []


def test_every_field_is_described(document: Any) -> None:
    described = {name for name, _ in fields(document)}
    assert len(described) > 60
    lacking = [
        name for name, field in fields(document) if not field.get("description") and "$ref" not in field
    ]  # a reference is described where it leads
    assert lacking == []
    schemas = document["components"]["schemas"]
    assert [name for name, schema in schemas.items() if not schema.get("description")] == []


def test_every_parameter_is_described(document: Any) -> None:
    for name, operation in operations(document):
        for parameter in operation.get("parameters", []):
            assert parameter.get("description"), (name, parameter["name"])


def test_every_field_has_an_example(document: Any) -> None:
    """A constant is its own, and a reference has those of where it leads."""
    lacking = [name for name, field in fields(document) if not {"examples", "const", "$ref"} & field.keys()]
    assert lacking == []


def test_every_answer_is_described(document: Any) -> None:
    for name, operation in operations(document):
        answers = operation["responses"]
        error = answers["default"]["content"]["application/json"]["schema"]
        assert error == {"$ref": "#/components/schemas/ErrorBody"}, name
        assert "422" not in answers or "HTTPValidationError" not in str(answers["422"]), name
        for success in [code for code in answers if code.startswith("2") and code not in ("200",)] or ["200"]:
            if success != "204" and not name.endswith(("/metrics", "/export", "/mcp")):
                assert answers[success]["content"]["application/json"]["schema"], name


def test_a_key_is_wanted_where_it_is(document: Any) -> None:
    open_to_all = {name for name, operation in operations(document) if "security" not in operation}
    assert open_to_all == {"GET /health", "GET /health/ready"}


def test_the_examples_of_a_body_are_accepted(pearl: Any, document: Any) -> None:
    from service.http.api.chat_completions import ChatIn
    from service.http.api.documents import DocumentIn
    from service.http.api.drafts import DraftIn
    from service.http.api.feedback import FeedbackIn
    from service.http.api.messages import MessagesIn
    from service.http.api.ollama import OllamaChatIn, OllamaGenerateIn
    from service.http.api.rerank import RerankIn
    from service.http.api.responses import ResponseIn
    from service.http.api.voices import VoiceIn
    from service.http.mcp.protocol import McpMessage

    models = (ChatIn, DocumentIn, DraftIn, FeedbackIn, McpMessage, RerankIn, ResponseIn, VoiceIn)
    for model in (*models, MessagesIn, OllamaChatIn, OllamaGenerateIn):
        examples = {
            name: field.examples[0]
            for name, field in model.model_fields.items()
            if field.examples and not field.exclude
        }
        model.model_validate(examples)


def test_the_pages_that_show_it(pearl: Any) -> None:
    assert pearl.client.get("/docs").status_code == 200


def test_the_media_type_of_an_answer_that_is_no_json_is_described(pearl: Any, document: Any) -> None:
    ann = pearl.as_user("ann")
    watcher = {"Authorization": f"Bearer {pearl.service_key()}"}
    chat = {"model": "pearl", "messages": [{"role": "user", "content": "Write"}], "stream": True}
    for method, path, answer in (
        ("post", "/v1/drafts", ann.post("/v1/drafts", {"request": "Write", "stream": True})),
        ("post", "/v1/chat/completions", ann.post("/v1/chat/completions", chat)),
        ("post", "/v1/messages", ann.post("/v1/messages", chat)),
        ("post", "/api/chat", ann.post("/api/chat", chat)),
        ("post", "/api/generate", ann.post("/api/generate", {"prompt": "Write"})),
        ("post", "/v1/responses", ann.post("/v1/responses", {"model": "pearl", "input": "Write", "stream": True})),
        ("get", "/v1/profile", ann.get("/v1/profile?format=text")),
        ("get", "/metrics", pearl.client.get("/metrics", headers=watcher)),
    ):
        assert answer.status_code == 200, path
        media_type = answer.headers["content-type"].partition(";")[0]
        assert media_type != "application/json"
        assert media_type in document["paths"][path][method]["responses"]["200"]["content"], path
