from __future__ import annotations

import pytest

from pearl.records import Document
from pearl.style.claims.personal import ADVICE
from tests.fake_chat import FakeChatModel

ELSEWHERE = {"llm": "openai", "llm_base_url": "https://api.example.org/v1", "llm_model": "m", "mask_personal": True}
PAST = "Hi Tomas, call me at +44 20 7946 0958.\n\nOtti"
ASK = {"request": "Tell Tomas that ada@example.org has the kettle"}
PERSONAL = ("Tomas", "7946", "ada@example.org", "Otti")


def sent(model: FakeChatModel) -> list[str]:
    return ["\n".join(message.content for message in messages) for messages, _ in model.calls]


@pytest.mark.parametrize(
    ("route", "more"),
    [
        ("/v1/drafts", {}),
        ("/v1/drafts", {"stream": True}),
        ("/v1/drafts", {"revise": "always"}),
        ("/v1/drafts", {"variants": 2}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": ASK["request"]}]}),
    ],
)
def test_a_model_elsewhere_is_sent_placeholders_in_every_call(house, route, more):
    split = ("Hi NA", "ME", "_1, MAIL_", "1 has it. NAME_77 too.")
    at = house(FakeChatModel([split, "Hi name_1, MAIL_1 has the kettle."]), **ELSEWHERE)
    at.add("ann", Document("d1", PAST, 1000.0))
    answer = at.as_user("ann").post(route, more if "messages" in more else {**ASK, **more})
    assert answer.status_code == 200, answer.text
    assert len(at.model.calls) == (2 if "variants" in more or "revise" in more else 1)
    for call in sent(at.model):
        assert [word for word in PERSONAL if word in call] == []
        assert ADVICE in call
    (text,) = at.rows("drafts")
    assert "ada@example.org has it" in str(text)
    assert "NAME_77 too" in str(text)
    assert "MAIL_1" not in str(text)


@pytest.mark.parametrize(
    "options",
    [
        {**ELSEWHERE, "mask_personal": False},
        {**ELSEWHERE, "llm_base_url": "http://127.0.0.1:9/v1"},
        {"mask_personal": True},
    ],
    ids=["not wanted", "an endpoint here", "embedded"],
)
def test_a_model_that_is_told_everything(house, options):
    at = house(**options)
    at.add("ann", Document("d1", PAST, 1000.0))
    at.as_user("ann").post("/v1/drafts", ASK)
    assert all(word in sent(at.model)[0] for word in PERSONAL)
    assert ADVICE not in sent(at.model)[0]


def test_nothing_personal_is_sent_as_it_is(house):
    at = house(**ELSEWHERE)
    at.as_user("ann").post("/v1/drafts", {"request": "write about the kettle"})
    assert ADVICE not in sent(at.model)[0]
