"""Public benchmarks, read from invented files in the form that their authors publish."""

from __future__ import annotations

import gzip
import json

import pytest

from eval.drafts.public_data import BENCHMARKS, read_benchmark
from pearl.errors import InputError


def read(name, folder, targets=1):
    return read_benchmark(BENCHMARKS[name], folder, targets)


def left_out(data):
    return {why: len(names) for why, names in data.ledger.dropped.items()}


def documents(case):
    return [(document.request, document.text) for document in case.record.documents]


ARTICLE = "Generate a headline for the following article: The river rose."
QUESTIONS = [
    {
        "id": "31",
        "input": ARTICLE,
        "profile": [
            {"id": "a", "text": "The dam broke.", "title": "A Dam Gives Way", "date": "2014-03-12"},
            {"id": "b", "text": "The rain stopped.", "title": "Dry At Last", "date": "2013-01-02", "bge_score": 0.3},
            {"id": "c", "text": "No headline.", "title": "", "date": "2013-01-02"},
        ],
    },
    {"id": "32", "input": ARTICLE, "profile": []},
    {"id": "33", "input": ARTICLE, "profile": [{"id": "d", "text": "It rose.", "title": "The River  Rises"}]},
    {"id": "34", "input": ARTICLE, "profile": [{"id": "e", "text": "It fell.", "title": "Low Water"}]},
]
OUTPUTS = {"31": "High Water", "32": "A Flood", "33": "The River Rises", "34": " "}
GOLDS = [{"id": number, "output": output} for number, output in OUTPUTS.items()]


@pytest.fixture
def lamp(tmp_path):
    def write(task="LaMP_4", questions=QUESTIONS, golds=GOLDS, part="dev"):
        (tmp_path / f"{part}_questions.json").write_text(json.dumps(questions))
        (tmp_path / f"{part}_outputs.json").write_text(json.dumps({"task": task, "golds": golds}))
        return tmp_path

    return write


def test_lamp_and_what_is_wrong_with_its_items(lamp):
    (lamp() / "test_questions.json").write_text("[]")  # whose outputs are not published
    data = read("lamp", lamp())
    (case,) = data.cases
    assert (case.owner, case.target, case.record.request.text) == ("user 31", "High Water", ARTICLE)
    assert documents(case) == [("The dam broke.", "A Dam Gives Way"), ("The rain stopped.", "Dry At Last")]
    first, second = (document.timestamp for document in case.record.documents)
    assert second < first < case.record.request.timestamp
    assert left_out(data) == {
        "record of a profile without a text": 1,
        "item without earlier texts": 1,
        "target among the earlier texts": 1,
        "item without a target": 1,
    }
    assert (data.files, data.ledger.read) == (3, {"questions of LaMP_4": 4})


@pytest.mark.parametrize(
    ("task", "record", "shown"),
    [
        (
            "LaMP_5",
            {"title": "On Rivers", "abstract": "We look at rivers.", "date": 2012},
            ("We look at rivers.", "On Rivers"),
        ),
        ("LaMP-7", {"text": "rivers are ok i guess"}, (None, "rivers are ok i guess")),
    ],
)
def test_the_other_tasks_of_lamp(lamp, task, record, shown):
    (case,) = read("lamp", lamp(task, [{"id": 7, "input": "i", "profile": [record]}], [{"id": 7, "output": "o"}])).cases
    assert documents(case) == [shown]


REVIEW = {"description": "A lamp", "overall": "5.0", "reviewText": "It is bright.", "summary": "Bright", "bge_score": 1}
ROWS = {
    "product_review": ({"reviewerId": "A1", "profile": [REVIEW]}, ("5.0\nBright\nA lamp", "It is bright."), "A1"),
    "abstract": ({"name": "ann", "profile": [{"title": "T", "abstract": "We.", "year": 2020}]}, ("T", "We."), "ann"),
    "topic": ({"author": "bob", "profile": [{"summary": "S", "content": "Long."}]}, ("S", "Long."), "bob"),
    "email": ({"id": 5, "profile": [{"title": "Rails", "text": "Hi Nan"}]}, ("Rails", "Hi Nan"), "5"),
}


@pytest.mark.parametrize("task", ROWS)
@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "json", "parquet"])
def test_longlamp_row_by_row(tmp_path, task, form):
    row, shown, user = ROWS[task]
    rows = [{**row, "input": "Write it.", "output": "So it is."}]
    path = tmp_path / f"test.{form}"
    if form == "parquet":
        from pyarrow import Table
        from pyarrow.parquet import write_table

        write_table(Table.from_pylist(rows), path)
    else:
        text = json.dumps(rows if form == "json" else rows[0]).encode()
        path.write_bytes(gzip.compress(text) if form.endswith("gz") else text)
    (tmp_path / "train.jsonl").write_text("{}\n")  # another part
    (case,) = read("longlamp", tmp_path).cases
    assert (case.record.user_id, case.target, documents(case)) == (user, "So it is.", [shown])


def test_a_line_that_is_cut_off_is_left_out(write_lines, tmp_path):
    row = {"reviewerId": "A1", "input": "i", "output": "o", "profile": [REVIEW]}
    data = read("longlamp", write_lines([row, json.dumps(row)[:50]], "rows.jsonl"))
    assert (len(data.cases), left_out(data)) == (1, {"line that is no JSON object": 1})


LONG = (
    "we went down to the sea & stayed there until the rain came in from the west and sent us all home again wet, cold"
)


def test_blogs_that_are_not_quite_xml(tmp_path):
    posts = [
        f"<date>{day},May,2004</date>\n<post>\n\n  Day {day} at the caf\xe9. "
        f"Then on {day} {LONG}.\n\n\n  Bye&nbsp;now.\n</post>"
        for day in (14, 3, 21)
    ]
    posts += [
        "<date>14,mai,2004</date>\n<post>x</post>",
        "<date>15,May,2004</date>\n<post>Hi.</post>",
        "<date>16,May,2004</date><post>cut",
    ]
    (tmp_path / "1234.male.24.Student.Leo.xml").write_bytes(f"<Blog>{''.join(posts)}".encode("latin-1"))
    (tmp_path / "99.female.17.Arts.Virgo.xml").write_bytes(f"<Blog>{posts[0]}</Blog>".encode("latin-1"))
    data = read("blogs", tmp_path)
    (case,) = data.cases
    assert (case.owner, case.record.request.text) == ("user 1234", "Day 21 at the café.")
    assert case.target == f"Then on 21 {LONG}.\n\nBye\xa0now."
    assert [document.request for document in case.record.documents] == ["Day 3 at the café.", "Day 14 at the café."]
    assert left_out(data) == {
        "post whose date cannot be read": 1,
        "post of fewer than 30 words": 1,
        "post that is cut off or has no date": 1,
        "user without an earlier text": 1,
    }


def test_aeslc_by_owner(tmp_path):
    def mail(name, content):
        folder = tmp_path / "dev"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.subject").write_text(content)

    mail("allen-p_sent_12", "Nan,\n\nThe rails are here.\n\n@subject\nRails\n\n@ann0\nRails came\n")
    mail("allen-p__sent_mail_3", "Where are they?\n\n@subject\nThe rails")
    mail("allen-p_sent_items_5", "\n@subject\nEmpty")
    mail("allen-p_inbox_4", "By another person.\n\n@subject\nOther")
    mail("allen-p_sent_13", "Cut o")
    data = read("aeslc", tmp_path)
    (case,) = data.cases
    assert (case.owner, case.record.request.text, case.target) == (
        "user allen-p",
        "Rails",
        "Nan,\n\nThe rails are here.",
    )
    assert documents(case) == [("The rails", "Where are they?")]
    assert left_out(data) == {
        "mail that its owner did not send": 1,
        "mail without @subject": 1,
        "mail without a text or a subject": 1,
    }


def history(users=3, texts=6):
    return [
        {
            "user_id": f"u{user}",
            "id": f"{user}-{day}",
            "timestamp": 4e9 + day,
            "request": f"day {day}",
            "text": f"Day {day} of {user}.",
        }
        for user in range(users)
        for day in range(texts)
    ]


def test_histories_users_and_a_short_past(write_lines, tmp_path):
    lines = [*history(), {"user_id": "new", "id": "1", "timestamp": 1, "request": "first", "text": "The first."}]
    data = read("history", write_lines(lines, "h.jsonl.gz"), targets=2)
    assert (len(data.cases), left_out(data)) == (6, {"user without an earlier text": 1})
    drawn = data.among(2, 3, seed=0)
    assert len({case.owner for case in drawn}) == 2
    assert [document.text[:5] for document in drawn[0].record.documents] == ["Day 1", "Day 2", "Day 3"]
    assert drawn == data.among(2, 3, seed=0)
    assert len({tuple(case.owner for case in data.among(2, None, seed)) for seed in range(9)}) > 1


def test_the_digest_is_of_the_files(write_lines):
    first, again, other = (read("history", write_lines(history(texts=n), "h.jsonl")).sha256 for n in (4, 4, 5))
    assert first == again != other


def test_a_file_of_something_else_is_named(lamp, write_lines, tmp_path):
    folder = lamp()
    with pytest.raises(InputError, match=r"there is no \*\.subject of aeslc; it may be lamp or longlamp\."):
        read("aeslc", folder)
    (folder / "dev_outputs.json").write_text('{"task": "LaMP_4", "golds": [{"id"')
    with pytest.raises(InputError, match="holds no outputs of LaMP"):
        read("lamp", folder)
    with pytest.raises(InputError, match="LaMP_3 asks for no text; there are LaMP_4, LaMP_5, LaMP_7"):
        read("lamp", lamp("LaMP_3"))
    (lamp() / "dev_questions.json").write_text(json.dumps(QUESTIONS)[:-40])
    with pytest.raises(InputError, match=r"dev_questions\.json: is not JSON"):
        read("lamp", folder)
    (folder / "dev_outputs.json").unlink()
    with pytest.raises(InputError, match="0 files of questions have their outputs"):
        read("lamp", folder)
    with pytest.raises(InputError, match=r"no item is left \(item without a request: 1\)"):
        read("longlamp", write_lines([{"user_id": "a", "text": "b"}], "h.jsonl"))
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(history()[0]).encode() * 50)[:-20])
    with pytest.raises(InputError, match="cannot be read"):
        read("history", path)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read("longlamp", tmp_path / "bad.parquet")
