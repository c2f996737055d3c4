from __future__ import annotations

import pytest

RATINGS = "item,rater,label\n" + "".join(
    f"text {item},{rater},{(item * (2 + index) // 3) % 3}\n"
    for item in range(12)
    for index, rater in enumerate(("Ann", "Ben", "Cy"))
)


@pytest.fixture
def ratings_file(tmp_path):
    def write(content=RATINGS):
        path = tmp_path / "ratings.csv"
        path.write_text(content, encoding="utf-8")
        return path

    return write


def test_coefficients_and_page(pearl_eval, ratings_file, tmp_path):
    path, page = ratings_file(), tmp_path / "a.html"
    run = pearl_eval("agreement", "--ratings", path, "--json", "-", "--report", page)
    assert (run.status, run.err) == (0, "")
    assert run.json["n"] == 36
    assert run.json["raters"] == ["Ann", "Ben", "Cy"]
    assert set(run.json["coefficients"]["fleiss_kappa"]) == {"value", "low", "high"}
    assert run.json["undefined"] == {}
    assert len(run.json["pairs"]) == 3
    assert "Krippendorff" in page.read_text(encoding="utf-8")


def test_tables_for_the_eye(pearl_eval, ratings_file):
    run = pearl_eval("agreement", "--ratings", ratings_file())
    assert (run.status, run.err) == (0, "")
    assert "36 ratings of 12 items by 3 raters;" in run.out


def test_missing_ratings_are_counted_and_no_label(pearl_eval, ratings_file):
    path = ratings_file("item,rater,label\n1,a,4\n1,b,4\n2,a,2\n2,b,NA\n3,a,\n3,b,5\n3,c,5\n")
    run = pearl_eval("agreement", "--ratings", path, "--json", "-")
    assert (run.json["n"], run.json["missing"], run.json["labels"]) == (5, 2, {"2": 1, "4": 2, "5": 2})
    alphas = [value for name, value in run.json["coefficients"].items() if "alpha" in name]
    assert [alpha["value"] for alpha in alphas] == [1, 1, 1]
    assert "5 ratings of 3 items by 3 raters, 2 missing;" in pearl_eval("agreement", "--ratings", path).out


def test_what_is_undefined_is_null(pearl_eval, ratings_file):
    path = ratings_file("item,rater,label\n1,a,yes\n2,a,no\n")
    run = pearl_eval("agreement", "--ratings", path, "--json", "-")
    assert (run.status, run.err) == (0, "")
    assert set(run.json["coefficients"].values()) == {None}
    assert run.json["undefined"]["fleiss_kappa"] == "there is only one rater"
    assert "there is only one rater" in pearl_eval("agreement", "--ratings", path).out


def test_labels_that_were_offered(pearl_eval, ratings_file):
    words = ("agreement", "--ratings", ratings_file(), "--json", "-")
    plain = pearl_eval(*words).json["coefficients"]["randolph_kappa"]["value"]
    offered = pearl_eval(*words, "--labels", "0, 1, 2, 3").json["coefficients"]["randolph_kappa"]["value"]
    assert offered > plain


def test_other_columns_are_listed(pearl_eval, ratings_file):
    path = ratings_file("text,who,score\n1,a,3\n")
    run = pearl_eval("agreement", "--ratings", path, "--json", "-")
    assert run.refusal.startswith(f"pearl: {path}:1: item: there is no such column; the file has text, who, score")


@pytest.mark.parametrize("option", ["--json", "--report"])
def test_a_result_does_not_take_the_place_of_the_ratings(pearl_eval, ratings_file, option):
    path = ratings_file()
    run = pearl_eval("agreement", "--ratings", path, option, path)
    assert (run.status, run.err) == (2, f"pearl: {option} {path}: is a file that is read; name another one.\n")
    assert path.read_text(encoding="utf-8") == RATINGS


def test_a_result_and_a_page_are_two_files(pearl_eval, ratings_file, tmp_path):
    run = pearl_eval("agreement", "--ratings", ratings_file(), "--report", tmp_path / "r", "--json", tmp_path / "r")
    assert (run.status, run.err) == (2, f"pearl: --json {tmp_path / 'r'}: is the file of --report; name another one.\n")
