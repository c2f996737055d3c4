"""Edits between drafts and sent texts, by hand."""

from __future__ import annotations

import pytest

from pearl.style.manner.edits import Edit, edit_between
from pearl.style.manner.writing import Writing

DRAFT = "Yes, swap away. Bea takes Saturday the 17th. Best regards"


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (DRAFT, (10, 0, 0)),
        (DRAFT.upper() + "!", (10, 0, 0)),
        ("Yes, swap away.", (3, 0, 7)),
        ("Yes, swap away. Pim takes Saturday the 17th. Otti", (7, 2, 3)),
        ("No.", (0, 1, 10)),
        ("Bea takes Saturday the 17th. Yes, swap away.", (5, 3, 5)),
    ],
)
def test_words_are_kept_added_and_removed(sent, words):
    assert edit_between(DRAFT, sent) == Edit(*words)


def test_shares():
    edit = Edit(7, 2, 3)
    assert edit.machine_share == 7 / 9
    assert edit.distance == 5 / 19
    assert edit.to_json()["distance"] == edit.distance


def test_texts_in_other_scripts():
    assert edit_between("我们明天见。我带钥匙。", "我们后天见。我带钥匙。") == Edit(8, 1, 1)
    assert edit_between("हिन्दी में लिखो।", "हिन्दी में मत लिखो।") == Edit(3, 1, 0)
    assert edit_between("Größe passt", "Gro\u0308ße passt") == Edit(2, 0, 0)


def test_lines_that_end_as_in_mails_are_no_edit():
    draft = "Moin Jörg,\n\nFreitag geht nicht\n\nViele Grüße\nUwe"
    assert edit_between(draft, draft.replace("\n", "\r\n")) == edit_between(draft, draft)
    assert len(Writing(draft.replace("\n", "\r\n")).paragraphs) == 3


@pytest.mark.parametrize(("draft", "sent", "share"), [("👍", "👍 ", 1), ("👍", "👎", 0), ("", "", 1), ("", "Yes", 0)])
def test_texts_without_words(draft, sent, share):
    assert edit_between(draft, sent).machine_share == share


def test_a_text_of_many_sentences_takes_no_more_than_its_length(grows_linearly):
    grows_linearly(lambda sent: edit_between(DRAFT, sent), "A b. ", 2_000)
