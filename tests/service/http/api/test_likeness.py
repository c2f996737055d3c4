"""``POST /v1/likeness``: the caller's own history, and nobody else's."""

from __future__ import annotations

import random
from typing import Any

import pytest

OPENINGS = ("Honestly ,", "Well then :", "As far as I can see", "Right ;", "To be fair ,")
LINKS = ("and so", "but still", "because", "; however ,", "although")
NOUNS = ("tide", "kettle", "garden", "train", "letter", "harbour", "window", "piano")
VERBS = ("waits", "sings", "leaves", "stays", "turns", "opens")


def texts_of(person: int, count: int) -> list[str]:
    dice = random.Random(person)

    def sentence() -> str:
        noun, first, second = dice.choice(NOUNS), dice.choice(VERBS), dice.choice(VERBS)
        return f"{OPENINGS[person]} the {noun} {first} {LINKS[person]} it {second} for us."

    return [" ".join(sentence() for _ in range(5)) for _ in range(count)]


OWN, ANOTHERS = texts_of(0, 21)[20], texts_of(1, 1)[0]


def documents_of(person: int, voice: str | None = None) -> dict[str, Any]:
    return {
        "documents": [
            {"id": f"{voice} {place}", "text": text, "timestamp": 1000.0 + place, "voice": voice}
            for place, text in enumerate(texts_of(person, 20))
        ]
    }


@pytest.fixture
def ann(pearl: Any) -> Any:
    pearl.voice("ann", "email")
    ann = pearl.as_user("ann")
    ann.post("/v1/documents", documents_of(0, "email"))
    return ann


def asked(user: Any, text: str, **more: Any) -> Any:
    answer = user.post("/v1/likeness", {"text": text, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_ones_own_text_is_likelier_than_anothers(ann: Any) -> None:
    own, others = asked(ann, OWN), asked(ann, ANOTHERS)
    assert (own["object"], own["voice"], own["impostors"]) == ("likeness", None, "mail")
    assert own["words"] == len(OWN.split())
    assert own["history"]["texts"] == 20
    assert own["log_ratio"] > others["log_ratio"]
    assert own["probability"] > others["probability"]
    assert own["note"].startswith(
        "The impostors (mail) are only 19 people: against fewer than 50 probabilities come out"
    )
    assert asked(ann, OWN, voice="email")["probability"] == asked(ann, OWN, voice="pearl")["probability"]


def test_it_says_why_it_cannot_say(pearl: Any, ann: Any) -> None:
    short = asked(ann, "Mind the tide.")
    assert (short["probability"], short["verdict"], short["words"]) == (None, "too_short", 3)
    # ann's texts are no help to ben: the answer is from the caller's history alone
    assert asked(pearl.as_user("ben"), OWN)["verdict"] == "history_too_small"
    german = "Ich glaube wir sollten morgen noch einmal in Ruhe darüber sprechen und dann sehen wir weiter , " * 3
    assert asked(ann, german)["verdict"] == "other_language"


def test_the_models_follow_the_history(pearl: Any, ann: Any) -> None:
    own, before = asked(ann, OWN), asked(ann, ANOTHERS)
    ann.post("/v1/documents", documents_of(1))
    after = asked(ann, ANOTHERS)
    assert after["history"]["texts"] == 40
    assert after["log_ratio"] > before["log_ratio"]
    assert asked(ann, ANOTHERS, voice="email")["history"]["texts"] == 20
    for place in range(20):
        ann.delete(f"/v1/documents/email {place}")
    assert asked(ann, OWN)["history"]["texts"] == 20
    assert asked(ann, OWN)["log_ratio"] < own["log_ratio"]


def test_nothing_of_a_deleted_user_stays(pearl: Any, ann: Any) -> None:
    asked(ann, OWN)
    kept = pearl.services.likenesses
    assert kept.people == 1
    assert ann.delete("/v1/me").status_code in (202, 204)
    assert kept.people == 0


def test_bad_input(ann: Any) -> None:
    assert ann.post("/v1/likeness", {"text": " "}).json()["error"]["param"] == "text"
    assert ann.post("/v1/likeness", {"text": OWN, "user": "ben"}).status_code == 422
    assert ann.post("/v1/likeness", {"text": OWN, "voice": "blog"}).status_code == 404


def test_every_draft_says_its_likeness_where_that_is_wanted(house: Any) -> None:
    pearl = house(likeness=True)
    ann = pearl.as_user("ann")
    ann.post("/v1/documents", documents_of(0))
    pearl.model.replies += [OWN, "Mind the tide."]
    draft = ann.post("/v1/drafts", {"request": "Tea?", "revise": "never"}).json()
    assert draft["likeness"] == asked(ann, draft["text"])["probability"]
    assert draft["timings"]["likeness_ms"] >= 0
    assert ann.get(f"/v1/drafts/{draft['id']}").json()["likeness"] == draft["likeness"]
    assert ann.post("/v1/drafts", {"request": "Tea?", "revise": "never"}).json()["likeness"] is None  # too short


def test_who_asks_often_keeps_their_models(pearl: Any, ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    models, owner = pearl.services.likenesses, pearl.user("ann").id
    first = models.get(owner, None)
    ben = models.get(pearl.user("ben").id, None)
    monkeypatch.setattr(models, "_most_bytes", models._size(first) + models._size(ben))
    assert models.get(owner, None) is first
    models.get(pearl.user("cy").id, None)  # takes ben's place
    assert models.get(owner, None) is first
