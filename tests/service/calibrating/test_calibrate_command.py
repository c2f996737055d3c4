"""``pearl calibrate`` as a user runs it, with an endpoint behind HTTP, and what drafts make of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from filelock import FileLock

from pearl.settings import load_settings
from retriever.baselines.dense import DenseRetriever
from retriever.models.encoder import SentenceEncoder
from service.calibrating.study import past_texts
from service.histories.embedding import Precedence, StoredEncoder
from service.store import calibrations, documents, profiles, users, voices
from service.store.database import Database
from service.store.documents import Addition
from service.store.profiles import StoredProfile

Command = Callable[..., Any]


@pytest.fixture
def database(encoder_once: None, judge_endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The database of PEARL_HOME; the endpoint is the chat model, and cosines retrieve."""
    monkeypatch.setenv("PEARL_RETRIEVER", "dense")
    made = Database(load_settings().resolved_database_url, timeout_s=10.0)
    made.migrate()
    yield made
    made.close()


@pytest.fixture
def ann(database: Any, past: Any) -> Any:
    """A person with a voice of one document a prompt, who wrote 44 texts."""
    with database.write() as connection:
        user = users.ensure(connection, {"ann"})["ann"]
        documents.add(connection, [Addition(user.id, document) for document in past()])
        voices.put(connection, user.id, "notes", {"k": 1})
        connection.exec_driver_sql("UPDATE documents SET voice = 'notes'")
    return user


@pytest.fixture
def calibrate(run_pearl: Command) -> Command:
    def run(*words: str) -> Any:
        common = ("--user", "ann", "--voice", "notes", "--no-bertscore", "--json", "-")
        return run_pearl("calibrate", *common, *words)

    return run


@pytest.fixture
def draft(run_pearl: Command) -> Command:
    """The answer of `pearl draft` for a request of ann's."""

    def run(request: str = "Where is the ferry?") -> dict[str, Any]:
        words = ("draft", request, "--user", "ann", "--voice", "notes", "--json", "-")
        return report(run_pearl(*words))

    return run


def report(done: Any) -> dict[str, Any]:
    assert done.status == 0, done.err
    return json.loads(done.out)


def stored(database: Any, user: Any) -> list[Any]:
    with database.read() as connection:
        return calibrations.of_user(connection, user.id)


def scores(database: Any, user: Any) -> dict[str, float]:
    """s1 of each text that can be calibrated on, by its target, from the embeddings that calibrating stored: each is
    scored over a history of its own."""
    with database.read() as connection:
        written = documents.all_of_user(connection, user.id)
    encoder = StoredEncoder(database, SentenceEncoder(), user.id, Precedence())
    found, _ = past_texts(written, DenseRetriever(encoder), 60)
    return {text.target: text.top_score for text in found}


def test_theta_is_found_where_revisions_help_and_drafts_keep_to_it(
    database: Any, ann: Any, judge_endpoint: Any, reader: Any, past: Any, calibrate: Command, draft: Command
) -> None:
    judge_endpoint.says = reader()
    found = report(calibrate())
    s1 = scores(database, ann)
    below = max(s1[each.text] for each in past() if each.id.startswith("fresh") and each.text in s1)
    above = min(s1[each.text] for each in past() if each.id.startswith("known") and each.text in s1)
    assert below < found["settings"]["threshold"] < above
    fresh = [each for each in past() if each.id.startswith("fresh") and each.text in s1]
    oracle = len(fresh) / len(s1)  # a revision is what was written, of whose word pairs the draft has none
    gain = found["threshold"]["gain"]["rouge2"]
    assert gain["low"] <= oracle <= gain["high"]
    assert gain["low"] > 0
    assert (found["metrics"], found["metrics_left_out"]) == (["rouge2", "likeness"], {})
    revised, kept = draft("submarine sonar hatch?"), draft(past()[0].request)
    assert (revised["stage"], revised["revision"]["reason"]) == ("revised", "below_threshold")
    assert (kept["stage"], kept["revision"]["reason"]) == ("draft", "above_threshold")
    assert revised["calibration"]["code"] == kept["calibration"]["code"] == "calibrated"
    assert revised["calibration"]["id"] == found["id"] == stored(database, ann)[0].id


def test_never_where_revisions_hurt(
    database: Any, ann: Any, judge_endpoint: Any, reader: Any, calibrate: Command, draft: Command
) -> None:
    judge_endpoint.says = reader(helps=False)
    found = report(calibrate())
    assert found["settings"] == {}
    assert (found["threshold"]["value"], found["threshold"]["share_revised"]) == (None, 0)
    answer = draft()
    assert (answer["stage"], answer["calibration"]["code"]) == ("draft", "calibrated")


def test_it_says_why_likeness_is_left_out_and_which_revisions_are_unreadable(
    database: Any, ann: Any, judge_endpoint: Any, reader: Any, calibrate: Command
) -> None:
    judge_endpoint.says = lambda body: reader()(body).partition("EDITED DRAFT")[0]
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE documents SET text = substr(text, 1, 60) || seq")
    done = calibrate()
    found = report(done)
    why = found["metrics_left_out"]["likeness"]
    assert (found["metrics"], set(found["threshold"]["gain"])) == (["rouge2"], {"rouge2", "combined"})
    assert why.startswith("0 of 43 past texts can be scored, fewer than half: it takes texts of 30 words")
    assert f"not by likeness: {why}" in done.err
    assert found["unreadable_revisions"] == found["texts"] == 43
    assert "43 of 43 revisions had no readable edited draft\n" in done.err


def test_the_lines_of_a_profile_that_stand_are_told_as_in_a_draft(
    database: Any, ann: Any, judge_endpoint: Any, reader: Any, calibrate: Command, draft: Command
) -> None:
    judge_endpoint.says = reader()
    with database.write() as connection:
        profiles.put(connection, ann.id, StoredProfile("notes", standing=True, instructions="Write no semicolons."))
    report(calibrate())
    draft()
    told = ["Write no semicolons." in json.dumps(body) for body in judge_endpoint.bodies]
    assert told == [True] * len(told)


def test_a_dry_run_and_a_second_run_ask_nothing(ann: Any, judge_endpoint: Any, reader: Any, calibrate: Command) -> None:
    judge_endpoint.says = reader()
    prices = ("PEARL_LLM_PRICES=1,1",)
    estimate = report(calibrate("--dry-run", *prices))["estimate"]
    assert judge_endpoint.bodies == []
    first = report(calibrate(*prices))
    assert len(judge_endpoint.bodies) == first["asked"]["calls"] == estimate["calls"]
    assert 0 < first["asked"]["cost"] < estimate["cost_at_most"]
    again = report(calibrate(*prices))
    assert (again["asked"]["calls"], again["settings"]) == (0, first["settings"])
    left = report(calibrate("--dry-run", *prices, "--max-cost", "0"))
    assert (left["texts"], left["estimate"]["calls"], left["estimate"]["cost_at_most"]) == (43, 0, 0)


def test_no_more_is_spent_than_allowed(ann: Any, judge_endpoint: Any, reader: Any, calibrate: Command) -> None:
    judge_endpoint.says = reader()
    prices = ("PEARL_LLM_PRICES=1,1",)
    most = report(calibrate("--dry-run", *prices))["estimate"]["cost_at_most"]
    fewer = report(calibrate("--dry-run", *prices, "--max-cost", str(most * 0.9)))
    assert 30 <= fewer["texts"] < 43
    assert fewer["estimate"]["cost_at_most"] <= most * 0.9
    poor = calibrate(*prices, "--max-cost", "0.0001")
    assert (poor.status, poor.err.count("\n")) == (1 if poor.status == 1 else 2, 1)
    assert "30 texts, the fewest, may cost up to" in poor.err
    assert judge_endpoint.bodies == []


def test_an_endpoint_that_fails_in_the_middle_loses_nothing(
    database: Any, ann: Any, judge_endpoint: Any, reader: Any, calibrate: Command
) -> None:
    judge_endpoint.says = reader()
    judge_endpoint.refuses = lambda number: (401, {}) if number > 25 else None
    failed = calibrate("PEARL_MAX_IN_FLIGHT=1")
    assert (failed.status, failed.out) == (1, "")
    assert "Traceback" not in failed.err
    assert stored(database, ann) == []
    judge_endpoint.refuses = lambda number: None
    found = report(calibrate())
    assert found["estimate"]["kept"] == 25
    assert found["texts"] == 43


def test_too_few_drafts_are_a_failure_that_names_its_reasons(
    database: Any, ann: Any, judge_endpoint: Any, reader: Any, calibrate: Command
) -> None:
    """The endpoint answers nothing to every second request; another run asks for those alone."""
    answers = reader()
    judge_endpoint.says = lambda body: "" if "?" in body["messages"][-1]["content"] else answers(body)
    failed = calibrate()
    assert (failed.status, failed.out) == (1, "")
    assert "Only 21 texts were drafted, fewer than 30 (22 empty_answer); run it again" in failed.err
    assert stored(database, ann) == []
    judge_endpoint.says = answers
    assert report(calibrate())["estimate"]["kept"] == 21


def test_another_model_is_not_calibrated(
    ann: Any, judge_endpoint: Any, reader: Any, calibrate: Command, draft: Command, monkeypatch: Any
) -> None:
    judge_endpoint.says = reader()
    report(calibrate())
    monkeypatch.setenv("PEARL_LLM_MODEL", "another")
    answer = draft()
    assert answer["calibration"] == {
        "code": "not_calibrated",
        "id": None,
        "message": "Nothing is calibrated for 'another' with this retriever; "
        "`pearl calibrate --user ann --voice notes` would do it, from 30 past texts on that have their "
        "request and another text before them.",
    }
    assert answer["stage"] == "draft"
    monkeypatch.setenv("PEARL_LLM_MODEL", "mock")
    monkeypatch.setenv("PEARL_REVISE_BELOW", "never")
    by_hand = draft()
    assert (by_hand["stage"], by_hand["calibration"]["code"]) == ("draft", "by_hand")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("DELETE FROM documents WHERE seq > 10", "There are 9 texts to calibrate on in the voice 'notes' of 'ann'"),
        ("UPDATE documents SET text = 'Yes.'", "There are 0 texts to calibrate on in the voice 'notes' of 'ann'"),
        ("UPDATE documents SET request = NULL, request_digest = NULL", "(left out: 44 no request)"),
        ("DELETE FROM voices", "There is no voice 'notes'"),
        ("DELETE FROM users", "There is no user 'ann'"),
    ],
)
def test_what_cannot_be_calibrated_on(
    database: Any, ann: Any, judge_endpoint: Any, calibrate: Command, change: str, says: str
) -> None:
    with database.write() as connection:
        connection.exec_driver_sql(change)
    failed = calibrate()
    assert (failed.out, failed.err.count("\n")) == ("", 1)
    assert says in failed.err
    assert failed.status in (1, 2)
    assert judge_endpoint.bodies == []


@pytest.mark.parametrize("made_again", [False, True])
def test_a_voice_that_is_deleted_meanwhile_keeps_no_calibration_and_costs_no_more(
    database: Any, ann: Any, judge_endpoint: Any, reader: Any, calibrate: Command, made_again: bool
) -> None:
    answers, deletions = reader(), iter((True,))

    def says(body: dict[str, Any]) -> str:
        if next(deletions, False):
            with database.write() as connection:
                voices.remove(connection, ann.id, "notes")
                if made_again:
                    voices.put(connection, ann.id, "notes", {})
        return str(answers(body))

    judge_endpoint.says = says
    failed = calibrate("PEARL_MAX_IN_FLIGHT=2")
    assert (failed.status, failed.out) == (2, "")
    assert "The voice 'notes' of 'ann' was deleted during the calibration; nothing is stored." in failed.err
    assert stored(database, ann) == []
    assert len(judge_endpoint.bodies) <= 2  # the others would have been paid for nothing


def test_a_user_who_is_deleted_meanwhile_leaves_nothing(
    database: Any, ann: Any, judge_endpoint: Any, reader: Any, calibrate: Command
) -> None:
    answers, deletions = reader(), iter((False,) * 9 + (True,))

    def says(body: dict[str, Any]) -> str:
        if next(deletions, False):
            with database.write() as connection:
                users.remove(connection, ann.id)
        return str(answers(body))

    judge_endpoint.says = says
    failed = calibrate("PEARL_MAX_IN_FLIGHT=1")
    assert (failed.status, failed.out) == (2, "")
    assert failed.err.endswith("pearl: 'ann' was deleted meanwhile; nothing is kept.\n")
    assert len(judge_endpoint.bodies) == 10
    assert not list((load_settings().home / "calibrations").iterdir())


def test_one_calibration_at_a_time_for_a_person(ann: Any, judge_endpoint: Any, calibrate: Command) -> None:
    folder = load_settings().home / "calibrations"
    folder.mkdir(parents=True)
    with FileLock(folder / f"{ann.id}.lock"):
        failed = calibrate()
    assert (failed.status, failed.out) == (2, "")
    assert failed.err == "pearl: Another calibration of 'ann' is running; wait for its end.\n"
    assert judge_endpoint.bodies == []


def test_a_damaged_file_of_replies(ann: Any, judge_endpoint: Any, calibrate: Command) -> None:
    folder = load_settings().home / "calibrations"
    folder.mkdir(parents=True)
    file = folder / f"{ann.id}.sqlite"
    file.write_text("no database")
    failed = calibrate()
    assert (failed.status, failed.out) == (2, "")
    assert failed.err == f"pearl: {file}: file is not a database; delete it to ask for its replies again.\n"


def test_voices_show_it_and_deleting_the_user_deletes_it(
    database: Any, ann: Any, judge_endpoint: Any, reader: Any, calibrate: Command, run_pearl: Command
) -> None:
    judge_endpoint.says = reader()
    found = report(calibrate())
    shown = run_pearl("voices", "show", "notes", "--user", "ann").out
    assert f"calibration: theta {found['settings']['threshold']:.2f} (for mock, dense all-MiniLM-L6-v2, " in shown
    assert "calibration" not in run_pearl("voices", "show", "pearl", "--user", "ann").out
    kept = load_settings().home / "calibrations"
    assert list(kept.glob("*.sqlite"))
    assert run_pearl("users", "delete", "ann", "--yes").status == 0
    assert list(kept.iterdir()) == []
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM calibrations").scalar() == 0


def test_voices_that_are_local_only_go_to_no_endpoint_elsewhere(
    database: Any, ann: Any, run_pearl: Command, calibrate: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEARL_LLM_BASE_URL", "https://api.example.org/v1")
    with database.write() as connection:
        voices.put(connection, ann.id, "diary", {"local_only": True})
        connection.exec_driver_sql("UPDATE documents SET voice = 'diary' WHERE document_id LIKE '%1'")
    whole = ("calibrate", "--user", "ann", "--no-bertscore", "--dry-run", "--json", "-")
    assert report(run_pearl(*whole))["left_out"]["local_only"] == 6
    with database.write() as connection:
        voices.put(connection, ann.id, "notes", {"local_only": True})
    refused = calibrate("--dry-run")
    assert refused.status == 2
    assert "The voice 'notes' is local only, and 'mock' runs elsewhere." in refused.err
