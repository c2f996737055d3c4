from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pearl.errors import InputError
from retriever.calibrated.artifact import MANIFEST, SHIPPED, SIGNALS, read_manifest
from training.choose.operating_point import MARGIN, THETA, choose_number

Points = list[dict[str, Any]]


def point(threshold: float | None, share: float, rouge2: float, **more: Any) -> dict[str, Any]:
    figures = {"share_revised": share, "rouge2": rouge2} | more
    return {"threshold": threshold} | {name: {"value": value} for name, value in figures.items()}


HELPS = [point(-3.0, 0.0, 0.20), point(-1.0, 0.25, 0.24), point(0.5, 0.5, 0.24), point(None, 1.0, 0.22)]
HELPS_ALL = [*HELPS[:-1], point(None, 1.0, 0.30)]
HARMS = [point(-3.0, 0.0, 0.20), point(-1.0, 0.25, 0.19), point(0.5, 0.5, 0.20)]
SURE = {"by_chance": {"rouge1": 0.01, "rouge2": 0.01}}
CHANCE = ", as much by chance in 1% of exchanges"


def shown(margin: float | None, documents: float, rouge2: float) -> dict[str, Any]:
    return {"margin": margin, "documents": {"value": documents}, "rouge2": {"value": rouge2}}


MARGIN_HELPS = [shown(0.0, 1.0, 0.2), shown(0.5, 2.0, 0.3), shown(1.0, 3.0, 0.3), shown(None, 4.0, 0.25)]
MARGIN_HARMS = [shown(0.0, 1.0, 0.2), shown(0.5, 2.0, 0.25), shown(None, 4.0, 0.25)]


@pytest.fixture
def report(tmp_path) -> Callable[..., Path]:
    """Write a report with a curve for each model, of drafts by a chat model."""

    def write(by_chance: float = 0.01, chat_model: str = "small", **curves: Points) -> Path:
        chance = dict.fromkeys(("rouge1", "rouge2"), by_chance)
        models = [{"model": name, "curve": curve, "by_chance": chance} for name, curve in curves.items()]
        path = tmp_path / "r.json"
        path.write_text(json.dumps({"models": models, "chat_model": chat_model, "command": "pearl eval"}))
        return path

    return write


def account(curve: Points, **more: Any) -> dict[str, Any]:
    """A curve as an artifact keeps it."""
    return {"curve": curve, "metric": "rouge2", **SURE, **more}


@pytest.mark.parametrize(
    ("setting", "curve", "number", "value", "unchanged", "coverage"),
    [
        (THETA, HELPS[::-1], -1.0, 0.24, 0.20, 0.25),  # of equal thetas the one that revises least
        (THETA, HARMS, None, 0.20, 0.20, 0.0),
        (THETA, HARMS[:1], None, 0.20, 0.20, 0.0),
        (MARGIN, MARGIN_HELPS, 1.0, 0.3, 0.25, 3.0),  # of equal margins the widest
        (MARGIN, MARGIN_HARMS, None, 0.25, 0.25, 4.0),
    ],
)
def test_the_number_that_helps_most_and_changes_least(setting, curve, number, value, unchanged, coverage):
    choice = choose_number(setting, account(curve), "rouge2")
    assert (choice.number, choice.value, choice.unchanged, choice.coverage) == (number, value, unchanged, coverage)
    assert choice.curve == curve


@pytest.mark.parametrize(
    ("setting", "curve", "metric", "said"),
    [
        (THETA, HELPS, "rouge1", r"no figures of 'rouge1' without revision; it has rouge2: choose by --metric\."),
        (THETA, HELPS[1:], "rouge2", "no figures of 'rouge2' without revision; it has rouge2"),
        (THETA, [], "rouge2", r"no figures of 'rouge2' without revision\."),
        (MARGIN, MARGIN_HELPS, "rouge1", "no figures of 'rouge1' with all documents; it has rouge2"),
        (MARGIN, MARGIN_HELPS[:3], "rouge2", "no figures of 'rouge2' with all documents; it has rouge2"),
        (MARGIN, [], "rouge2", r"no figures of 'rouge2' with all documents\."),
    ],
)
def test_a_curve_without_the_figures_of_no_change(setting, curve, metric, said):
    with pytest.raises(InputError, match=said):
        choose_number(setting, account(curve), metric)


def test_the_command_writes_theta_into_the_artifact(train, make_artifact, report):
    folder = make_artifact(training={"seed": 1})
    ran = train("threshold", model=folder, revision=report(elsewhere=HELPS), json="-")
    assert ran.err == (
        f"theta -1.000: rouge2 0.2400 at best, 0.2000 without revision{CHANCE}; 25% of the drafts revised\n"
    )
    assert json.loads(ran.out) == {
        "threshold": -1.0,
        "metric": "rouge2",
        "best": -1.0,
        "by_chance": 0.01,
        "value": 0.24,
        "without_revision": 0.2,
        "share_revised": 0.25,
        "curve": HELPS,
    }
    artifact = read_manifest(folder)
    assert artifact.threshold == artifact.calibration.threshold == -1.0
    assert artifact.training == {"seed": 1, "thresholds": {"small": account(HELPS, report="pearl eval")}}

    ran = train("threshold", model=folder, revision=report(elsewhere=HARMS))
    assert (ran.err.startswith("never revise: "), ran.out) == (True, "")
    assert read_manifest(folder).threshold is None

    ran = train("threshold", model=folder, revision=report(elsewhere=HELPS_ALL), json="-")  # revising everything
    assert ran.err == f"theta all: rouge2 0.3000 at best, 0.2000 without revision{CHANCE}; 100% of the drafts revised\n"
    assert json.loads(ran.out)["threshold"] == json.loads((folder / MANIFEST).read_text())["threshold"] == "all"
    artifact = read_manifest(folder)
    assert artifact.calibration.is_below_threshold(1e30)
    assert not artifact.calibration.is_below_threshold(None)
    assert "theta all" in artifact.inherited()


def test_the_command_writes_the_margin_into_the_artifact(train, make_artifact, report):
    folder = make_artifact(training={"seed": 1})
    file = report(elsewhere=MARGIN_HELPS)
    file.write_text(file.read_text(), encoding="utf-16")  # as PowerShell's > has it
    ran = train("margin", model=folder, shown=file, json="-")
    assert ran.err == f"margin 1.000: rouge2 0.3000 at best, 0.2500 with all documents{CHANCE}; 3.0 shown\n"
    assert json.loads(ran.out) == {
        "margin": 1.0,
        "metric": "rouge2",
        "best": 1.0,
        "by_chance": 0.01,
        "value": 0.3,
        "with_all": 0.25,
        "documents": 3.0,
        "curve": MARGIN_HELPS,
    }
    artifact = read_manifest(folder)
    assert artifact.margin == artifact.calibration.margin == 1.0
    assert artifact.training == {"seed": 1, "margin": account(MARGIN_HELPS)}

    ran = train("margin", model=folder, shown=report(elsewhere=MARGIN_HARMS))
    assert ran.err.startswith("no margin: ")
    assert read_manifest(folder).margin is None


def test_theta_is_that_of_the_chat_model_that_was_measured(train, make_artifact, report, piped):
    folder = make_artifact()
    for chat_model, curve in (("small", HARMS), ("large", HELPS)):
        content = report(chat_model=chat_model, elsewhere=curve).read_bytes()
        assert train("threshold", model=folder, revision=piped(content)).status == 0
    calibration = read_manifest(folder).calibration
    thetas = [calibration.with_model(name).threshold for name in ("small", "large", "never measured")]
    assert thetas == [None, -1.0, None]


def test_theta_is_chosen_again_from_the_curve_that_the_artifact_keeps(train, make_artifact, report):
    both = [each | {"rouge1": {"value": n}} for each, n in zip(HELPS, (1, 2, 3, 0), strict=True)]
    folder = make_artifact()
    for options, theta in (
        ({"revision": report(chat_model="large", elsewhere=both)}, -1.0),
        ({"metric": "rouge1"}, 0.5),
        ({"chat_model": "large"}, -1.0),
    ):
        assert train("threshold", model=folder, **options).status == 0
        artifact = read_manifest(folder)
        assert artifact.thresholds == {"large": theta}
        kept = account(both, report="pearl eval") | {"metric": options.get("metric", "rouge2")}
        assert artifact.training["thresholds"] == {"large": kept}


def test_the_shipped_theta_is_what_the_command_chooses(train, tmp_path):
    folder = shutil.copytree(SHIPPED, tmp_path / "shipped")
    before = read_manifest(folder)
    assert before.thresholds is not None
    for name in before.thresholds:
        metric = before.training["thresholds"][name]["metric"]
        assert train("threshold", model=folder, chat_model=name, metric=metric).status == 0
    assert read_manifest(folder) == before


def test_of_several_models_the_artifacts_own(train, make_artifact, report):
    folder = make_artifact()
    assert train("threshold", model=folder, revision=report(bm25=HARMS, **{str(folder): HELPS})).status == 0
    assert read_manifest(folder).threshold == -1.0
    ran = train("threshold", model=folder, revision=report(bm25=HARMS, dense=HELPS))
    assert (ran.status, "is about bm25, dense, not about" in ran.err) == (2, True)


@pytest.mark.parametrize("name", ["bm25", "dense-sum", "likelihood:some/model", "embedded"])
def test_a_scorer_without_an_artifact_has_its_theta_said(train, report, name):
    ran = train("threshold", model=name, revision=report(**{"elsewhere": HARMS, name: HELPS}), json="-")
    assert (ran.status, json.loads(ran.out)["threshold"]) == (0, -1.0)
    assert ran.err.startswith("theta -1.000: rouge2 0.2400 at best, 0.2000 without revision")
    file = report(elsewhere=HELPS)
    ran = train("threshold", model=name, revision=file)
    assert (ran.status, ran.err) == (2, f"pearl: {file}: is about elsewhere, not about {name}.\n")
    ran = train("threshold", model=name)
    said = "keeps no curve of theta; name a report of 'pearl eval revision' with --revision.\n"
    assert (ran.status, ran.err.split(": ", 2)[2]) == (2, said)


@pytest.mark.parametrize("name", ["bm25", "embedded", "OTHER"])
def test_a_report_of_another_model_is_refused(train, make_artifact, report, tmp_path, name):
    folder = make_artifact().rename(tmp_path / "mine")
    if name == "OTHER":
        name = str(make_artifact({"bm25_text": 1.0}).rename(tmp_path / "other"))
    file = report(**{name: HELPS})
    ran = train("threshold", model=folder, revision=file)
    assert (ran.status, ran.err) == (2, f"pearl: {file}: is about {name}, not about {folder}.\n")
    moved = shutil.copytree(folder, tmp_path / "moved")
    assert train("threshold", model=moved, revision=report(**{str(folder): HELPS})).status == 0


NO_CHANCE = {"model": "a", "curve": HELPS}
FULL: dict[str, Any] = {"models": [NO_CHANCE | SURE], "chat_model": "a", "command": "pearl eval"}


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{}", '{"models": []}', '{"models": [{"model": "a"}]}', "\x00"),
        *(
            json.dumps(FULL | changed)
            for changed in (
                {"models": [NO_CHANCE]},
                {"models": [NO_CHANCE | {"by_chance": None}]},
                {"models": [NO_CHANCE | SURE | {"curve": MARGIN_HELPS}]},  # of the other command
                *(
                    {"models": [NO_CHANCE | SURE | {"curve": [HELPS[0], HELPS[1] | change]}]}
                    for change in (
                        {"rouge2": 0.3},
                        {"rouge2": {"value": None}},
                        {"rouge2": {"value": "NaN"}},
                        {"rouge2": {"value": float("nan")}},
                        {"share_revised": {"value": "much"}},
                        {"threshold": "low"},
                    )
                ),
            )
        ),
        *(json.dumps({name: FULL[name] for name in FULL if name != missing}) for missing in ("chat_model", "command")),
    ],
)
def test_a_file_that_is_no_report(train, make_artifact, tmp_path, content):
    (tmp_path / "r.json").write_text(content)
    ran = train("threshold", model=make_artifact(), revision=tmp_path / "r.json")
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"pearl: {tmp_path / 'r.json'}: is not a report of 'pearl eval revision --json' (")


def test_a_report_of_thetas_is_none_of_margins(train, make_artifact, report):
    ran = train("margin", model=make_artifact(), shown=report(elsewhere=HELPS))
    assert ran.status == 2
    assert "is not a report of 'pearl eval generation --by-count --json' (KeyError: " in ran.err


def test_options_that_cannot_be(train, make_artifact, report, tmp_path):
    file, keeps = report(a=HELPS), {"thresholds": {name: account(HARMS) for name in ("a", "b")}}
    several = "keeps curves of theta for 'a', 'b'; name one of them with --chat-model, or a report"
    for options, said in (
        ({"model": make_artifact()}, "keeps no curve of theta; name a report of 'pearl eval revision'"),
        ({"model": make_artifact(training=keeps)}, several),
        ({"model": make_artifact(training=keeps), "chat_model": "c"}, several),
        ({"model": make_artifact(), "revision": file, "chat_model": "large"}, "measured drafts by 'small'"),
        ({"model": make_artifact(), "revision": file, "metric": "bleu"}, "--metric bleu: there are rouge2, "),
        ({"model": make_artifact(), "revision": tmp_path / "none.json"}, "is not a report"),
        ({"model": tmp_path, "revision": file}, "is not an artifact"),
        ({"model": make_artifact(), "revision": file, "json": tmp_path / "no" / "x"}, "there is no folder"),
    ):
        ran = train("threshold", **options)
        assert ran.status == 2
        assert said in ran.err


def test_a_damaged_artifact_is_not_approved(train, make_artifact, report):
    folder = make_artifact()
    (folder / SIGNALS).write_bytes(b"half")
    before = (folder / MANIFEST).read_bytes()
    ran = train("threshold", model=folder, revision=report(elsewhere=HELPS))
    assert (ran.status, f"'{SIGNALS}' is not the one it was made with" in ran.err) == (2, True)
    assert (folder / MANIFEST).read_bytes() == before


def test_an_artifact_that_may_not_be_written_to_is_refused(train, make_artifact, report):
    folder = make_artifact()
    told = {"model": folder, "revision": report(**{str(folder): [point(0.0, 0.0, 0.1)]})}
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("whoever runs this may write everywhere")
    ran = train("threshold", **told)
    folder.chmod(0o700)
    said = f"pearl: --model {folder / MANIFEST}: nothing can be written in {folder}; name another place.\n"
    assert (ran.status, ran.err) == (2, said)


def test_what_is_no_better_than_chance_is_not_chosen(train, make_artifact, report):
    folder = make_artifact(threshold=0.5, margin=0.5)
    ran = train("threshold", model=folder, revision=report(0.0505, elsewhere=HELPS_ALL), json="-")
    assert ran.err == (
        "never revise, for theta all is no better than chance: rouge2 0.3000 at best, 0.2000 without revision, as much "
        "by chance in 5.05% of exchanges; 0% of the drafts revised\n"
    )
    told = json.loads(ran.out)
    assert (told["threshold"], told["best"], told["by_chance"], told["value"]) == (None, "all", 0.0505, 0.3)
    ran = train("threshold", model=folder)  # nor from the curve that is kept
    assert ran.err.startswith("never revise, for theta all is no better than chance")
    ran = train("margin", model=folder, shown=report(0.3, elsewhere=MARGIN_HELPS))
    assert ran.err.startswith("no margin, for margin 1.000 is no better than chance: rouge2 0.3000 at best, ")
    assert ran.err.endswith("as much by chance in 30% of exchanges; 4.0 shown\n")
    assert (read_manifest(folder).threshold, read_manifest(folder).margin) == (None, None)


def test_another_margin_takes_back_theta(train, make_artifact, report):
    """It was chosen on drafts with other documents."""
    curves = {name: account(HELPS) for name in ("small", "large")}
    folder = make_artifact(threshold=0.5, thresholds={"small": 0.5, "large": None}, training={"thresholds": curves})
    ran = train("margin", model=folder, shown=report(a=MARGIN_HELPS))
    assert ran.err.splitlines()[1:] == [
        "theta of 'small' was chosen before, and is 'never' now: choose it again by 'pearl train threshold'"
    ]
    artifact = read_manifest(folder)
    assert (artifact.threshold, artifact.thresholds) == (None, {"small": None, "large": None})
    assert artifact.training["thresholds"] == {name: own | {"outdated": "the margin"} for name, own in curves.items()}
    ran = train("threshold", model=folder, chat_model="small")
    assert ran.status == 2
    assert f"{folder}: the margin has changed since its curve of theta was measured; name a new report" in ran.err
    assert train("threshold", model=folder, chat_model="small", revision=report(a=HELPS)).status == 0
    assert train("margin", model=folder, shown=report(a=MARGIN_HELPS)).err.count("\n") == 1  # the same margin
    assert read_manifest(folder).thresholds == {"small": -1.0, "large": None}


@pytest.mark.parametrize(
    ("margin", "words"), [(0.005, "0.0050"), (0.0007, "0.00070"), (0.05, "0.050"), (1.25, "1.250")]
)
def test_a_small_margin_is_not_rounded_into_another(train, make_artifact, report, margin, words):
    folder = make_artifact()
    ran = train("margin", model=folder, shown=report(a=[shown(margin, 1.0, 0.3), shown(None, 4.0, 0.2)]))
    assert ran.err.startswith(f"margin {words}: ")
    two = words.removesuffix("0") if margin > 1 else words
    assert f"shows what scores within {two} of the best" in read_manifest(folder).inherited()
