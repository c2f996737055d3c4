from __future__ import annotations

import gzip
import json

import pytest

from eval.stats.ratings import read_ratings
from pearl.errors import InputError

HEAD = "item,rater,label\n"


@pytest.fixture
def csv_file(tmp_path):
    def write(content):
        path = tmp_path / "r.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_a_file(csv_file):
    ratings = read_ratings(csv_file("note,Label,item,rater\nx,B,1,ann\n,A,1,ben\n\n,A,2,ann\n"))
    assert (ratings.items, ratings.raters, ratings.labels) == (("1", "2"), ("ann", "ben"), ("A", "B"))
    assert ratings.codes.tolist() == [[1, 0], [0, -1]]
    assert ratings.counts.tolist() == [[1, 1], [1, 0]]
    assert ratings.used == {"A": 2, "B": 1}
    assert ratings.numbers is None


def test_quoted_cells_line_ends_and_a_byte_order_mark(csv_file):
    ratings = read_ratings(csv_file(b'\xef\xbb\xbfitem,rater,label\r\n"a, b",x,"yes\nno"\r\n'))
    assert (ratings.items, ratings.labels) == (("a, b",), ("yes\nno",))


def test_a_gzipped_file_is_read_and_a_cut_one_is_named(csv_file):
    packed = gzip.compress((HEAD + "1,ann,A\n").encode())
    assert read_ratings(csv_file(packed)).items == ("1",)
    with pytest.raises(InputError, match=r"r\.csv: cannot be read: "):
        read_ratings(csv_file(packed[:-9]))


def test_only_line_ends_end_a_line(csv_file):
    ratings = read_ratings(csv_file(HEAD + "1\u2028one,a,A\x0c\n2,a,B\n"))
    assert ratings.items == ("1\u2028one", "2")


def test_a_name_typed_on_two_machines_is_one(csv_file):
    path = csv_file(HEAD + "1,Jürgen,süß\n2,Ju\u0308rgen,su\u0308ß\n")
    ratings = read_ratings(path, ["su\u0308ß", "salzig"], ["Ju\u0308rgen"])
    assert (ratings.raters, ratings.labels) == (("Jürgen",), ("salzig", "süß"))


def test_numbers_are_sorted_as_numbers(csv_file):
    ratings = read_ratings(csv_file(HEAD + "1,a,10\n2,a,9\n3,a,-1.5\n"))
    assert ratings.numbers == (-1.5, 9.0, 10.0)
    assert read_ratings(csv_file(HEAD + "1,a,10\n2,a,inf\n")).numbers is None


@pytest.mark.parametrize("missing", ["", "NA", " NA ", "nan", "NaN", "N/A", "#N/A", "<NA>", "null", "."])
def test_a_rating_that_says_it_is_missing_is_left_out_and_counted(csv_file, missing):
    ratings = read_ratings(csv_file(f"{HEAD}1,ann,3\n1,ben,{missing}\n2,cy,{missing}\n2,ann,1\n2,ben,1\n"))
    assert (ratings.items, ratings.raters, ratings.labels) == (("1", "2"), ("ann", "ben"), ("1", "3"))
    assert (ratings.missing, ratings.numbers) == (2, (1, 3))


def test_a_rating_without_a_label_in_json(tmp_path):
    path = tmp_path / "r.jsonl"
    lines = ({"item": "1", "rater": rater, "label": label} for rater, label in (("a", "x"), ("b", None), ("c", "NA")))
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert (read_ratings(path).raters, read_ratings(path).missing) == (("a",), 2)


def test_a_scale_may_have_the_answer_na(csv_file):
    ratings = read_ratings(csv_file(HEAD + "1,a,NA\n1,b,yes\n2,a,nan\n"), ("yes", "no", "NA"))
    assert (ratings.used, ratings.missing) == ({"NA": 1, "no": 0, "yes": 1}, 1)


def test_labels_that_were_offered_and_not_given(csv_file):
    ratings = read_ratings(csv_file(HEAD + "1,a,A\n"), ("A", "B", "tie"))
    assert ratings.used == {"A": 1, "B": 0, "tie": 0}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ": is empty"),
        ("\n\n", ": is empty"),
        (HEAD, ": there is no rating in it"),
        ("id,judge,label\n1,a,A\n", ":1: item: there is no such column; the file has id, judge, label, and needs item"),
        (
            "item;rater;label\n1;a;A\n",
            ":1: item: there is no such column; the file has item;rater;label, and needs item, rater, label, with",
        ),
        ("item,rater,label,label\n1,a,A,B\n", ":1: label: two columns have that name"),
        (HEAD + "1,a\n2,a,NA\n", ": there is no rating in it; all 2 are missing."),
        (HEAD + "1,,A\n", ":2: rater: is empty; name what was rated and by whom."),
        (HEAD + "1,a,A\n2,a,A\n1,a,B\n", ":4: rater: 'a' rated '1' already on line 2"),
        (HEAD.encode() + b"1,a,A\n2,a,\xff\n", ":3: is not UTF-8"),
        (
            HEAD + '1,a,"A\n',
            ":2: is not CSV: a cell begins with a quote, and none closes it. Put a cell with quotes in",
        ),
        (HEAD + '1,a,"A\n2,b,B\n3,"a",A\n', ":2: is not CSV: on line 4, no comma follows the quote that closes a"),
        (HEAD + '1,"a\nb",A\n1,"a" b,B\n', ":4: is not CSV: no comma follows the quote that closes a cell. Put a"),
        (HEAD + '1,"a\nb",A\n,b,B\n', ":4: item: is empty"),
    ],
)
def test_a_bad_file_is_named_with_line_and_column(csv_file, content, said):
    path = csv_file(content)
    with pytest.raises(InputError) as error:
        read_ratings(path)
    assert error.value.message.startswith(f"{path}{said}")


def test_a_label_that_was_not_offered(csv_file):
    with pytest.raises(InputError, match=r":2: label: 'C' is none of A, B\."):
        read_ratings(csv_file(HEAD + "1,a,C\n"), ("A", "B"))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_ratings(tmp_path / "no.csv")
