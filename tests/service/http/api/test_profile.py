"""``/v1/profile``: the voice card of the caller alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from service.store import profiles, users
from service.store.profiles import LineChoice

DAY = 86_400.0


def letter(number: int) -> str:
    return f"Hello Tomas, kettle's on.\n\nThe rota is yours; swap away; day {number} suits Bea.\n\nMind the tide,\nOtti"


@pytest.fixture
def ann(pearl: Any) -> Any:
    pearl.voice("ann", "email")
    ann = pearl.as_user("ann")
    documents = [
        {"id": f"mail-{number}", "text": letter(number), "timestamp": 1000.0 + number * DAY, "voice": "email"}
        for number in range(8)
    ]
    ann.post("/v1/documents", {"documents": documents})
    return ann


def card(ann: Any, **params: str) -> Any:
    answer = ann.get("/v1/profile", params=params)
    assert answer.status_code == 200
    return answer.json()


def line(ann: Any, name: str, voice: str = "email") -> Any:
    return next((each for each in card(ann, voice=voice)["lines"] if each["name"] == name), None)


def sent(pearl: Any, ann: Any, drafted: str, text: str | None, request: str = "Swap?") -> str:
    pearl.model.replies.append(drafted)
    draft = ann.post("/v1/drafts", {"request": request, "voice": "email"}).json()
    body = {"draft_id": draft["id"], "outcome": "edited" if text else "accepted", "final_text": text}
    assert ann.post("/v1/feedback", body).status_code == 201
    return str(draft["id"])


def test_a_card_is_computed_once_until_something_changes(pearl: Any, ann: Any) -> None:
    def kept() -> Any:
        return pearl.services.profiles.get(pearl.user("ann").id, "email")

    first = card(ann, voice="email")
    made = kept()
    assert card(ann, voice="email") == first
    assert kept() is made
    sent(pearl, ann, "The tide is up.", None)
    assert kept() is not made
    made = kept()
    ann.put("/v1/profile/lines/semicolons", {"state": "struck"}, params={"voice": "email"})
    assert kept() is not made
    assert line(ann, "semicolons")["state"] == "struck"


def test_a_card_says_the_manner_to_each_recipient_of_twenty_texts(ann: Any) -> None:
    def texts(name: str, recipient: str, number: int, text: str) -> list[dict[str, str]]:
        return [{"id": f"{name}-{n}", "text": text, "recipient": recipient} for n in range(number)]

    documents = [
        *texts("nan", "nan@example.org", 15, "rails on friday then"),
        *texts("nan2", "Nan <NAN@example.org>", 6, "Hello Nan,\n\nthe rails are here.\n\nBest,\nOtti"),
        *texts("bea", "bea@example.org", 20, "Hello Bea,\n\nyes please.\n\nBest,\nOtti"),
        *texts("bob", "bob@example.org", 19, "Hello Bob,\n\nno."),
    ]
    ann.post("/v1/documents", documents)
    nan, bea = card(ann)["recipients"]
    assert (nan["recipient"], nan["texts"], nan["words"]) == ("nan@example.org", 21, 4)
    assert nan["greeting"] == nan["sign_off"]
    assert 0 < nan["greeting"]["low"] < nan["greeting"]["value"] == round(6 / 21, 9) < nan["greeting"]["high"] < 1
    assert nan["text"].startswith("To nan@example.org: a greeting in 29% of texts, a sign-off in 29% of texts, about 4")
    assert bea["text"] == 'To bea@example.org: a greeting ("Hello Bea,"), a sign-off, about 6 words.'
    for format, told in {"text": True, "prompt": False, "skill": False}.items():  # others' addresses stay here
        assert (bea["text"] in ann.get("/v1/profile", params={"format": format}).text) == told
    ann.post("/v1/documents", texts("nan3", "nan@example.org", 14, "rails then"))
    assert card(ann)["recipients"][0]["text"].startswith("To nan@example.org: no greeting, no sign-off, about 4 words")
    assert card(ann, voice="email")["recipients"] == []


def test_a_card_says_what_the_texts_show(ann: Any) -> None:
    found = card(ann, voice="email")
    assert (found["object"], found["voice"], found["texts"], found["occasions"]) == ("profile", "email", 8, 8)
    assert (found["needs"], found["standing"]) == (None, False)
    assert found["compared_with"].endswith(" authors")
    semicolons = line(ann, "semicolons")
    assert (semicolons["direction"], semicolons["state"], semicolons["texts"]) == ("more", "listed", 8)
    assert semicolons["rate"]["low"] <= semicolons["rate"]["value"] <= semicolons["rate"]["high"]
    assert semicolons["text"].startswith("You use more semicolons than others: 11.1 per 100 words")
    assert semicolons["examples"][0]["id"] == "mail-7"
    assert "yours; swap" in semicolons["examples"][0]["excerpt"]
    assert line(ann, "sign_off")["rate"]["value"] == 1
    assert line(ann, "emojis") is None
    greeting, sign_off = found["edges"]["greeting"], found["edges"]["sign_off"]
    assert (greeting["text"], greeting["texts"], greeting["of"]) == (
        "Hello Tomas, kettle's on. The rota is yours;",
        8,
        8,
    )
    assert (sign_off["text"], sign_off["examples"][0]["id"]) == ("Mind the tide, Otti", "mail-7")
    in_words = ann.get("/v1/profile", params={"voice": "email", "format": "text"}).text
    assert "* 8 of 8 texts end “Mind the tide, Otti”." in in_words
    assert card(ann)["texts"] == card(ann, voice="pearl")["texts"] == 8


def test_a_history_of_three_texts_says_what_it_needs(pearl: Any) -> None:
    ben = pearl.as_user("ben")
    for number in range(3):
        ben.post("/v1/documents", {"text": letter(number), "timestamp": number * DAY})
    found = card(ben)
    assert found["lines"] == []
    assert "five" not in found["needs"]
    assert found["needs"].startswith(
        "A habit needs 5 texts written on 3 days; the card reads the newest, here 3 texts from 3 days."
    )
    for number in range(3):
        ben.post("/v1/documents", {"text": letter(number), "timestamp": 5.0})
    assert card(ben)["lines"] != []


def test_a_profile_is_its_owners(pearl: Any, ann: Any) -> None:
    assert card(pearl.as_user("ben"))["texts"] == 0
    assert pearl.as_user("ben").get("/v1/profile", params={"voice": "email"}).status_code == 404
    assert pearl.client.get("/v1/profile").status_code == 401
    ben = {**pearl.as_user("ben").headers, "X-Pearl-User": "ann"}
    assert pearl.client.get("/v1/profile", headers=ben).status_code == 403


def test_a_line_is_confirmed_corrected_struck_and_deleted(ann: Any) -> None:
    def put(name: str, **body: Any) -> Any:
        return ann("PUT", f"/v1/profile/lines/{name}?voice=email", body)

    assert put("semicolons", state="confirmed").status_code == 200
    corrected = put("words", state="corrected", text="Keep it under 40 words.").json()
    assert (
        next(each for each in corrected["lines"] if each["name"] == "words")["instruction"] == "Keep it under 40 words."
    )
    assert put("greeting", state="struck").status_code == 200
    assert ann("DELETE", "/v1/profile/lines/sign_off?voice=email").status_code == 204
    assert [line(ann, name)["state"] for name in ("semicolons", "words", "greeting")] == [
        "confirmed",
        "corrected",
        "struck",
    ]
    assert line(ann, "sign_off") is None
    assert line(ann, "sign_off", voice="pearl")["state"] == "listed"  # another voice's card
    prompt = ann.get("/v1/profile", params={"voice": "email", "format": "prompt"}).text
    assert "- Keep it under 40 words." in prompt
    assert "Greet" not in prompt
    assert put("greeting", state="listed").json()["lines"]
    assert line(ann, "greeting")["state"] == "listed"
    assert put("sign_off", state="listed").status_code == 200
    assert line(ann, "sign_off") is not None
    for answer in (put("emojis", state="struck"), ann("DELETE", "/v1/profile/lines/nonsense?voice=email")):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "line_not_found")
    assert put("words", state="corrected").json()["error"]["param"] == "text"
    for state in ("confirmed", "struck", "listed"):
        answer = put("words", state=state, text="Keep it under 30 words.")
        assert (answer.status_code, answer.json()["error"]["param"]) == (422, "text")
        assert "'text' goes with the state 'corrected'" in answer.json()["error"]["message"]
    assert line(ann, "words")["instruction"] == "Keep it under 40 words."
    assert put("words", state="loved").status_code == 422
    assert ann("DELETE", "/v1/profile?voice=email").status_code == 204
    assert line(ann, "words")["state"] == "listed"


def test_a_confirmed_line_stays_when_newer_texts_contradict_it(ann: Any) -> None:
    ann("PUT", "/v1/profile/lines/semicolons?voice=email", {"state": "confirmed"})
    newer = [
        {"text": f"All plain words now, number {number}. Nothing else here. Good.", "timestamp": (100 + number) * DAY}
        for number in range(10)
    ]
    ann.post("/v1/documents", {"documents": [each | {"voice": "email"} for each in newer]})
    kept = line(ann, "semicolons")
    assert (kept["state"], kept["texts"]) == ("confirmed", 0)
    assert kept["instruction"].startswith("Use more semicolons")
    assert line(ann, "sign_off") is None  # decayed: none of the newest ten has it
    assert line(ann, "greeting") is None


def test_a_confirmed_line_is_restored_with_the_text_that_was_confirmed(pearl: Any, ann: Any) -> None:
    ann("PUT", "/v1/profile/lines/semicolons?voice=email", {"state": "confirmed"})
    (exported,) = ann.get("/v1/export").json()["profiles"]
    text = exported["lines"]["semicolons"]["text"]
    assert text.startswith("Use more semicolons")
    ann("DELETE", "/v1/profile?voice=email")
    with pearl.services.database.write() as connection:
        owner = users.get(connection, "ann").id
        assert profiles.restore(connection, owner, exported)
        assert profiles.get(connection, owner, "email").lines == {"semicolons": LineChoice("confirmed", text)}


def test_standing_instructions_reach_the_prompt_until_they_end(pearl: Any, ann: Any) -> None:
    ann("PUT", "/v1/profile/lines/words?voice=email", {"state": "corrected", "text": "Keep it under 40 words."})

    def asked() -> str:
        ann.post("/v1/drafts", {"request": "Swap?", "voice": "email"})
        return "\n".join(message.content for message in pearl.model.calls[-1][0])

    assert "Keep it under 40 words." not in asked()
    assert ann("PATCH", "/v1/profile?voice=email", {"standing": True}).json()["standing"] is True
    assert "Keep it under 40 words." in asked()
    ann("PUT", "/v1/profile/lines/words?voice=email", {"state": "struck"})
    assert "Keep it under 40 words." not in asked()
    assert "semicolons" in asked()
    ann("PATCH", "/v1/profile?voice=email", {"standing": False})
    assert "semicolons" not in asked()


def test_lines_that_are_too_long_are_no_standing_instructions(pearl: Any, ann: Any) -> None:
    long = {"state": "corrected", "text": "Keep it short. " * 1_400}
    assert ann("PUT", "/v1/profile/lines/words?voice=email", long).status_code == 200
    answer = ann("PATCH", "/v1/profile?voice=email", {"standing": True})
    assert (answer.status_code, answer.json()["error"]["param"]) == (413, "lines")
    assert ann.get("/v1/profile?voice=email").json()["standing"] is False


@pytest.mark.parametrize(
    ("voice", "name"),
    [("Notizen für später", "notizen-fur-spater-voice"), ("دفتر", "voice"), ("Größe", "grosse-voice")],
)
def test_a_skill_is_named_by_plain_letters(pearl: Any, voice: str, name: str) -> None:
    pearl.voice("ann", voice)
    answer = pearl.as_user("ann").get("/v1/profile", params={"voice": voice, "format": "skill"})
    assert answer.text.splitlines()[1] == f"name: {name}"


def test_a_skill_has_a_header_and_no_texts(ann: Any) -> None:
    answer = ann.get("/v1/profile", params={"voice": "email", "format": "skill"})
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text.startswith("---\nname: email-voice\ndescription: 'Use when drafting email")
    assert "Tomas" not in answer.text
    assert "mail-7" in ann.get("/v1/profile", params={"voice": "email", "format": "text"}).text


def test_edits_are_measured_and_pushes_named(pearl: Any, ann: Any) -> None:
    drafted = "Yes, swap away. All is well! See you soon!"
    for number in range(8):
        sent(pearl, ann, drafted, f"Yes, swap away. All is well on day {number}. See you soon.")
    accepted = sent(pearl, ann, drafted, None)
    found = card(ann, voice="email")
    edits = found["edits"]
    assert (edits["drafts"], edits["accepted"], edits["edited"], edits["rejected"]) == (9, 1, 8, 0)
    assert (edits["words_kept"], edits["words_added"], edits["words_removed"]) == (81, 24, 0)
    assert edits["distance"]["value"] == pytest.approx(8 * 3 / 21 / 9)
    assert edits["trend"] is not None
    assert sum(month["drafts"] for month in edits["months"]) == 9
    push = next(each for each in found["pushes"] if each["name"] == "exclamations")
    assert (push["raised"], push["lowered"], push["p_value"]) == (0, 8, 2 / 2**8)
    assert push["difference"]["high"] < 0
    assert push["p_corrected"] >= push["p_value"]
    # the machine's texts are no samples of the person's manner
    assert found["texts"] == 8
    ann("PATCH", f"/v1/documents/{accepted}", {"mine": True})
    assert card(ann, voice="email")["texts"] == 9
    ann("DELETE", "/v1/voices/email")
    ann("PUT", "/v1/voices/email", {})
    assert card(ann, voice="email")["edits"]["drafts"] == 0, "a new voice of an old name has none of its drafts"
    assert card(ann)["edits"]["drafts"] == 9


def test_many_drafts_for_the_same_requests_are_the_measure(pearl: Any, ann: Any) -> None:
    for number in range(20):
        sent(
            pearl,
            ann,
            f"I would be happy to swap day {number} with you, Tomas.",
            letter(number),
            request=f"Swap {number}?",
        )
    found = card(ann, voice="email")
    assert found["compared_with"] == "20 drafts of the model for the same requests"
    assert line(ann, "semicolons")["usual"] == 0


def test_export_and_deletion_take_it_along(pearl: Any, ann: Any) -> None:
    ann("PUT", "/v1/profile/lines/words?voice=email", {"state": "corrected", "text": "Zinfandel brevity."})
    (profile,) = ann.get("/v1/export").json()["profiles"]
    assert profile["lines"]["words"] == {"state": "corrected", "text": "Zinfandel brevity."}
    assert ann("DELETE", "/v1/me").status_code == 204
    assert pearl.rows("profiles") == []
    assert not pearl.on_disk("Zinfandel")


def test_the_loop_is_free_while_a_deleted_line_is_erased(pearl: Any, ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def erase() -> bool:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return True

    monkeypatch.setattr(pearl.services.database, "forget_deleted", erase)
    assert ann("DELETE", "/v1/profile/lines/sign_off?voice=email").status_code == 204
