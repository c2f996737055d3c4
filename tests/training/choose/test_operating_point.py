from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pearl.errors import InputError
from pearl.theta import EVERYTHING
from retriever.calibrated.artifact import MANIFEST, SHIPPED, SIGNALS, read_manifest
from training.choose.curves import MARGIN, THETA, MeasuredCurve, choose_number


def point(threshold: float | None, share: float, rouge2: float | None, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"threshold": threshold, "share_revised": {"value": share, "low": share, "high": share}}
    if rouge2 is not None:
        found["rouge2"] = {"value": rouge2, "low": rouge2 - 0.1, "high": rouge2 + 0.1}
    return found | more


HELPS = [point(-3.0, 0.0, 0.20), point(-1.0, 0.25, 0.24), point(0.5, 0.5, 0.24), point(None, 1.0, 0.22)]
HELPS_ALL = [*HELPS[:-1], point(None, 1.0, 0.30)]
HARMS = [point(-3.0, 0.0, 0.20), point(-1.0, 0.25, 0.19), point(0.5, 0.5, 0.20)]


SURE = {"by_chance": {"rouge1": 0.01, "rouge2": 0.01}}
CHANCE = ", as much by chance in 1% of exchanges"
KEPT = {"thresholds": {name: {"metric": "rouge2", "curve": HARMS} for name in ("a", "b")}}


def shown(margin: float | None, documents: float, rouge2: float) -> dict[str, Any]:
    return {"margin": margin, "documents": {"value": documents}, "rouge2": {"value": rouge2}}


MARGIN_HELPS = [shown(0.0, 1.0, 0.2), shown(0.5, 2.0, 0.3), shown(1.0, 3.0, 0.3), shown(None, 4.0, 0.25)]
MARGIN_HARMS = [shown(0.0, 1.0, 0.2), shown(0.5, 2.0, 0.25), shown(None, 4.0, 0.25)]


def report(path: Path, by_chance: float | None = 0.01, **curves: list[dict[str, Any]]) -> Path:
    more = {} if by_chance is None else {"by_chance": dict.fromkeys(("rouge1", "rouge2"), by_chance)}
    models = [{"model": name, "curve": curve} | more for name, curve in curves.items()]
    path.write_text(json.dumps({"models": models}))
    return path


def measured(curve: list[dict[str, Any]], by_chance: float = 0.01) -> MeasuredCurve:
    return MeasuredCurve(curve, {"rouge2": by_chance}, Path("r.json"))


def test_of_equal_thetas_the_one_that_revises_least() -> None:
    choice = choose_number(THETA, measured(HELPS[::-1]), "rouge2")
    assert (choice.number, choice.value, choice.unchanged) == (-1.0, 0.24, 0.20)
    assert choice.extent == 0.25
    assert choice.curve == HELPS[::-1]


@pytest.mark.parametrize("curve", [HARMS, HARMS[:1]])
def test_never_where_no_theta_helps(curve: list[dict[str, Any]]) -> None:
    choice = choose_number(THETA, measured(curve), "rouge2")
    assert (choice.number, choice.extent, choice.value) == (None, 0.0, 0.20)


def test_all_where_revising_everything_is_best(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_artifact()
    ran = train("threshold", model=folder, revision=report(tmp_path / "r.json", elsewhere=HELPS_ALL), json="-")
    assert ran.err == f"theta all: rouge2 0.3000 at best, 0.2000 without revision{CHANCE}; 100% of the drafts revised\n"
    assert json.loads(ran.out)["threshold"] == json.loads((folder / MANIFEST).read_text())["threshold"] == "all"
    artifact = read_manifest(folder)
    assert artifact.calibration.is_below_threshold(1e30)
    assert not artifact.calibration.is_below_threshold(None)
    assert "theta all" in artifact.inherited()


def test_a_curve_that_is_none() -> None:
    with pytest.raises(InputError, match="no figures of 'rouge1'"):
        choose_number(THETA, measured(HELPS), "rouge1")
    with pytest.raises(InputError, match="no figures of 'rouge2' without revision"):
        choose_number(THETA, measured(HELPS[1:]), "rouge2")
    with pytest.raises(InputError, match="no figures"):
        choose_number(THETA, measured([]), "rouge2")


def test_the_command_writes_theta_into_the_artifact(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_artifact(training={"seed": 1})
    ran = train("threshold", model=folder, revision=report(tmp_path / "r.json", elsewhere=HELPS), json="-")
    assert ran.status == 0
    assert (
        ran.err == f"theta -1.000: rouge2 0.2400 at best, 0.2000 without revision{CHANCE}; 25% of the drafts revised\n"
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
    assert artifact.training == {"seed": 1, "threshold": {"metric": "rouge2", "curve": HELPS, **SURE}}

    ran = train("threshold", model=folder, revision=report(tmp_path / "r.json", elsewhere=HARMS))
    assert ran.err.startswith("never revise: ")
    assert ran.out == ""
    assert read_manifest(folder).threshold is None


def test_theta_is_that_of_the_chat_model_that_was_measured(
    train: Callable[..., Any], make_artifact: Callable[..., Path], piped: Any, tmp_path: Path
) -> None:
    folder = make_artifact()
    for chat_model, curve in (("small", HARMS), ("large", HELPS)):
        file = report(tmp_path / "r.json", elsewhere=curve)
        content = json.dumps(json.loads(file.read_text()) | {"chat_model": chat_model})
        assert train("threshold", model=folder, revision=piped(content.encode())).status == 0
    calibration = read_manifest(folder).calibration
    thetas = [calibration.with_model(name).threshold for name in ("small", "large", "never measured")]
    assert thetas == [None, -1.0, None]
    accounts = read_manifest(folder).training["thresholds"]
    assert accounts == {
        name: {"curve": curve, "metric": "rouge2", **SURE} for name, curve in (("small", HARMS), ("large", HELPS))
    }


def test_theta_is_chosen_again_from_the_curve_that_the_artifact_keeps(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path
) -> None:
    both = [point | {"rouge1": value} for point, value in zip(HELPS, ({"value": n} for n in (1, 2, 3, 0)), strict=True)]
    file = report(tmp_path / "r.json", elsewhere=both)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"chat_model": "large", "command": "pearl eval"}))
    folder = make_artifact()
    for options, theta in (({"revision": file}, -1.0), ({"metric": "rouge1"}, 0.5), ({"chat_model": "large"}, -1.0)):
        assert train("threshold", model=folder, **options).status == 0
        artifact = read_manifest(folder)
        assert artifact.thresholds == {"large": theta}
        metric = options.get("metric", "rouge2")
        account = {"curve": both, "report": "pearl eval", "metric": metric, **SURE}
        assert artifact.training["thresholds"] == {"large": account}


def test_a_theta_without_a_chat_model_gets_one(train: Callable[..., Any], make_artifact: Callable[..., Path]) -> None:
    """As artifacts of before keep it."""
    folder = make_artifact(threshold=-1.0, training={"threshold": {"metric": "rouge2", "curve": HARMS}})
    assert train("threshold", model=folder).status == 0
    assert (read_manifest(folder).threshold, read_manifest(folder).thresholds) == (None, None)
    assert train("threshold", model=folder, chat_model="small").status == 0
    artifact = read_manifest(folder)
    assert (artifact.threshold, artifact.thresholds) == (None, {"small": None})
    assert artifact.training == {"thresholds": {"small": {"metric": "rouge2", "curve": HARMS}}}


def test_the_shipped_theta_is_what_the_command_chooses(train: Callable[..., Any], tmp_path: Path) -> None:
    folder = shutil.copytree(SHIPPED, tmp_path / "shipped")
    before = read_manifest(folder)
    assert before.thresholds is not None
    for name in before.thresholds:
        metric = before.training["thresholds"][name]["metric"]
        assert train("threshold", model=folder, chat_model=name, metric=metric).status == 0
    assert read_manifest(folder) == before


def test_of_several_models_the_artifacts_own(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_artifact()
    file = report(tmp_path / "r.json", bm25=HARMS, **{str(folder): HELPS})
    assert train("threshold", model=folder, revision=file).status == 0
    assert read_manifest(folder).threshold == -1.0
    ran = train("threshold", model=folder, revision=report(tmp_path / "r.json", bm25=HARMS, dense=HELPS))
    assert ran.status == 2
    assert "is about bm25, dense, not about" in ran.err


@pytest.mark.parametrize("name", ["bm25", "dense-sum", "likelihood:some/model", "embedded"])
def test_a_scorer_without_an_artifact_has_its_theta_said(train: Callable[..., Any], tmp_path: Path, name: str) -> None:
    file = report(tmp_path / "r.json", **{"elsewhere": HARMS, name: HELPS})
    ran = train("threshold", model=name, revision=file, json="-")
    assert (ran.status, json.loads(ran.out)["threshold"]) == (0, -1.0)
    assert ran.err.startswith("theta -1.000: rouge2 0.2400 at best, 0.2000 without revision")
    ran = train("threshold", model=name, revision=report(tmp_path / "r.json", elsewhere=HELPS))
    assert (ran.status, ran.err) == (2, f"pearl: {tmp_path / 'r.json'}: is about elsewhere, not about {name}.\n")
    ran = train("threshold", model=name)
    assert (ran.status, ran.err.split(": ", 2)[2]) == (
        2,
        "keeps no curve of theta; name a report of 'pearl eval revision' with --revision.\n",
    )


@pytest.mark.parametrize("name", ["bm25", "embedded", "OTHER"])
def test_a_report_of_another_model_is_refused(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    folder = make_artifact().rename(tmp_path / "mine")
    if name == "OTHER":
        name = str(make_artifact({"bm25_text": 1.0}).rename(tmp_path / "other"))
    ran = train("threshold", model=folder, revision=report(tmp_path / "r.json", **{name: HELPS}))
    assert (ran.status, ran.err) == (2, f"pearl: {tmp_path / 'r.json'}: is about {name}, not about {folder}.\n")
    moved = shutil.copytree(folder, tmp_path / "moved")
    assert train("threshold", model=moved, revision=report(tmp_path / "r.json", **{str(folder): HELPS})).status == 0


@pytest.mark.parametrize(
    ("command", "option", "report_of", "curve"),
    [
        ("margin", "shown", "generation --by-count", HELPS),
        ("threshold", "revision", "revision", MARGIN_HELPS),
    ],
)
def test_a_report_of_the_other_command_is_refused(
    train: Callable[..., Any],
    make_artifact: Callable[..., Path],
    tmp_path: Path,
    command: str,
    option: str,
    report_of: str,
    curve: list[dict[str, Any]],
) -> None:
    ran = train(command, model=make_artifact(), **{option: report(tmp_path / "r.json", elsewhere=curve)})
    assert ran.status == 2
    assert ran.err.startswith(
        f"pearl: {tmp_path / 'r.json'}: is not a report of 'pearl eval {report_of} --json' (KeyError: "
    )


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"models": []}', '{"models": [{"model": "a"}]}', "\x00"])
def test_a_file_that_is_no_report(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path, content: str
) -> None:
    (tmp_path / "r.json").write_text(content)
    ran = train("threshold", model=make_artifact(), revision=tmp_path / "r.json")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"pearl: {tmp_path / 'r.json'}: is not a report of 'pearl eval revision --json'")
    assert ran.err.count("\n") == 1


def test_options_that_cannot_be(train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path) -> None:
    file, of_small = report(tmp_path / "r.json", a=HELPS), report(tmp_path / "s.json", a=HELPS)
    of_small.write_text(json.dumps(json.loads(of_small.read_text()) | {"chat_model": "small"}))
    for options, said in (
        (
            {"model": make_artifact()},
            "keeps no curve of theta; name a report of 'pearl eval revision' with --revision.",
        ),
        ({"model": make_artifact(training=KEPT)}, "keeps curves of theta for 'a', 'b'; name one"),
        ({"model": make_artifact(training=KEPT), "chat_model": "c"}, "keeps curves of theta for 'a', 'b'; name one"),
        ({"model": make_artifact(), "revision": of_small, "chat_model": "large"}, "measured drafts by 'small'"),
        ({"model": make_artifact(), "revision": file, "metric": "bleu"}, "--metric bleu: there are rouge2, "),
        ({"model": make_artifact(), "revision": tmp_path / "none.json"}, "is not a report"),
        ({"model": tmp_path, "revision": file}, "is not an artifact"),
        ({"model": make_artifact(), "revision": file, "json": tmp_path / "no" / "x"}, "there is no folder"),
    ):
        ran = train("threshold", **options)
        assert ran.status == 2
        assert said in ran.err


def test_a_damaged_artifact_is_not_approved(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path
) -> None:
    for damage, said in (
        (lambda folder: (folder / "more.txt").touch(), "'more.txt' does not belong to it"),
        (lambda folder: (folder / SIGNALS).write_bytes(b"half"), f"'{SIGNALS}' is not the one it was made with"),
        (lambda folder: (folder / SIGNALS).unlink(), f"'{SIGNALS}' is missing"),
    ):
        folder = make_artifact()
        damage(folder)
        before = (folder / MANIFEST).read_bytes()
        ran = train("threshold", model=folder, revision=report(tmp_path / "r.json", elsewhere=HELPS))
        assert ran.status == 2
        assert said in ran.err
        assert (folder / MANIFEST).read_bytes() == before


def test_an_artifact_that_may_not_be_written_to_is_refused(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_artifact()
    told = {"model": folder, "revision": report(tmp_path / "r.json", **{str(folder): [point(0.0, 0.0, 0.1)]})}
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("whoever runs this may write everywhere")
    ran = train("threshold", **told)
    folder.chmod(0o700)
    said = f"pearl: --model {folder / MANIFEST}: nothing can be written in {folder}; name another place.\n"
    assert (ran.status, ran.err) == (2, said)


def test_of_equal_margins_the_widest() -> None:
    choice = choose_number(MARGIN, measured(MARGIN_HELPS), "rouge2")
    assert (choice.number, choice.value, choice.unchanged, choice.extent) == (1.0, 0.3, 0.25, 3.0)


def test_none_where_no_margin_helps() -> None:
    choice = choose_number(MARGIN, measured(MARGIN_HARMS), "rouge2")
    assert (choice.number, choice.value, choice.extent) == (None, 0.25, 4.0)


@pytest.mark.parametrize(("curve", "metric"), [(MARGIN_HELPS, "rouge1"), (MARGIN_HELPS[:3], "rouge2"), ([], "rouge2")])
def test_a_curve_of_margins_that_is_none(curve: list[dict[str, Any]], metric: str) -> None:
    has = r"; it has rouge2: choose by --metric\." if curve else r"\."
    with pytest.raises(InputError, match=f"no figures of '{metric}' with all documents{has}"):
        choose_number(MARGIN, measured(curve), metric)


def test_the_command_writes_the_margin_into_the_artifact(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_artifact(training={"seed": 1})
    content = report(tmp_path / "r.json", elsewhere=MARGIN_HELPS).read_text()
    (tmp_path / "r.json").write_text(content, encoding="utf-16")  # as PowerShell's > has it
    ran = train("margin", model=folder, shown=tmp_path / "r.json", json="-")
    assert ran.status == 0
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
    assert artifact.training == {"seed": 1, "margin": {"metric": "rouge2", "curve": MARGIN_HELPS, **SURE}}

    ran = train("margin", model=folder, shown=report(tmp_path / "r.json", elsewhere=MARGIN_HARMS))
    assert ran.err.startswith("no margin: ")
    assert read_manifest(folder).margin is None

    (tmp_path / "r.json").write_text("{}")
    ran = train("margin", model=folder, shown=tmp_path / "r.json")
    assert ran.status == 2
    assert "is not a report of 'pearl eval generation --by-count --json'" in ran.err


def test_theta_stays_never_where_the_best_is_no_better_than_chance(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_artifact(threshold=0.5)
    ran = train("threshold", model=folder, revision=report(tmp_path / "r.json", 0.0505, elsewhere=HELPS_ALL), json="-")
    assert ran.err == (
        "never revise, for theta all is no better than chance: rouge2 0.3000 at best, 0.2000 without revision, as much "
        "by chance in 5.05% of exchanges; 0% of the drafts revised\n"
    )
    told = json.loads(ran.out)
    assert (told["threshold"], told["best"], told["by_chance"], told["value"]) == (None, "all", 0.0505, 0.3)
    assert read_manifest(folder).threshold is None
    ran = train("threshold", model=folder)  # nor from the curve that is kept
    assert ran.err.startswith("never revise, for theta all is no better than chance")


def test_no_margin_where_the_best_is_no_better_than_chance(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_artifact(margin=0.5)
    ran = train("margin", model=folder, shown=report(tmp_path / "r.json", 0.3, elsewhere=MARGIN_HELPS))
    assert ran.err.startswith("no margin, for margin 1.000 is no better than chance: rouge2 0.3000 at best, ")
    assert ran.err.endswith("as much by chance in 30% of exchanges; 4.0 shown\n")
    assert read_manifest(folder).margin is None


def test_a_report_that_says_nothing_of_chance(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path
) -> None:
    """As earlier versions wrote it: what changes nothing can be taken from it, what changes something cannot."""
    folder = make_artifact(training={"threshold": {"metric": "rouge2", "curve": HELPS}})
    for command, option, curves in (
        ("threshold", "revision", (HARMS, HELPS)),
        ("margin", "shown", (MARGIN_HARMS, MARGIN_HELPS)),
    ):
        none, some = (report(tmp_path / f"{place}.json", None, a=curve) for place, curve in enumerate(curves))
        before = (folder / MANIFEST).read_bytes()
        ran = train(command, model=folder, **{option: some})
        assert (ran.status, (folder / MANIFEST).read_bytes()) == (2, before)
        assert ran.err.startswith(f"pearl: {some}: does not say whether its best {command} is better than by chance")
        assert train(command, model=folder, **{option: none}).status == 0
    folder = make_artifact(training={"threshold": {"metric": "rouge2", "curve": HELPS}})
    ran = train("threshold", model=folder)
    assert (ran.status, "run 'pearl eval revision --json' again" in ran.err) == (2, True)


def test_another_margin_takes_back_theta(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path
) -> None:
    """It was chosen on drafts with other documents."""
    curves = {name: {"metric": "rouge2", "curve": HELPS, **SURE} for name in ("small", "large")}
    chosen = {"threshold": 0.5, "thresholds": {"small": 0.5, "large": None}, "training": {"thresholds": curves}}
    folder = make_artifact(**chosen)
    file = report(tmp_path / "r.json", a=MARGIN_HELPS)
    ran = train("margin", model=folder, shown=file)
    assert ran.err.splitlines()[1:] == [
        "theta of 'small' was chosen before, and is 'never' now: choose it again by 'pearl train threshold'"
    ]
    artifact = read_manifest(folder)
    assert (artifact.threshold, artifact.thresholds) == (None, {"small": None, "large": None})
    assert artifact.training["thresholds"] == {name: own | {"outdated": "the margin"} for name, own in curves.items()}
    ran = train("threshold", model=folder, chat_model="small")
    assert ran.status == 2
    assert f"{folder}: the margin has changed since its curve of theta was measured; name a new report" in ran.err
    assert (
        train("threshold", model=folder, chat_model="small", revision=report(tmp_path / "t.json", a=HELPS)).status == 0
    )
    assert train("margin", model=folder, shown=file).err.count("\n") == 1  # the same margin
    assert read_manifest(folder).thresholds == {"small": -1.0, "large": None}

    folder = make_artifact(threshold=EVERYTHING)
    assert "\ntheta was chosen before, and is 'never' now: " in train("margin", model=folder, shown=file).err
    assert read_manifest(folder).threshold is None


@pytest.mark.parametrize(
    ("margin", "words"), [(0.005, "0.0050"), (0.0007, "0.00070"), (0.05, "0.050"), (1.25, "1.250")]
)
def test_a_small_margin_is_not_rounded_into_another(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path, margin: float, words: str
) -> None:
    folder = make_artifact()
    curve = [shown(margin, 1.0, 0.3), shown(None, 4.0, 0.2)]
    ran = train("margin", model=folder, shown=report(tmp_path / "r.json", a=curve))
    assert ran.err.startswith(f"margin {words}: ")
    two = words.removesuffix("0") if margin > 1 else words
    assert f"shows what scores within {two} of the best" in read_manifest(folder).inherited()


@pytest.mark.parametrize(
    "change",
    [
        {"rouge2": 0.3},
        {"rouge2": {"value": None}},
        {"rouge2": {"value": "NaN"}},
        {"share_revised": {"value": "much"}},
        {"threshold": "low"},
    ],
)
def test_a_curve_without_numbers(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path, change: dict[str, Any]
) -> None:
    ran = train(
        "threshold", model=make_artifact(), revision=report(tmp_path / "r.json", a=[HELPS[0], HELPS[1] | change])
    )
    assert ran.status == 2
    assert ran.err.startswith(
        f"pearl: {tmp_path / 'r.json'}: is not a report of 'pearl eval revision --json' (TypeError"
    )


def test_a_report_with_a_number_that_is_none(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path
) -> None:
    file = report(tmp_path / "r.json", a=[HELPS[0], HELPS[1] | {"rouge2": {"value": float("nan")}}])
    ran = train("threshold", model=make_artifact(), revision=file)
    assert (ran.status, "(ValueError: NaN is not a number)" in ran.err) == (2, True)
