from __future__ import annotations

import pytest

from service.importing.sources.commits.footers import own_text

HASH = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    "footer",
    [
        "Refs #31\nReviewed-by: Mary Fox",
        "Closes #4, closes #5 and fixes pots/lids#6.",
        "This closes #4.",
        "Fixes\n#4",
        "Depends on !143",
        "Part of pots&3",
        "KETTLE-12, KETTLE-13",
        "AB#4711",
        "Jira: KETTLE-12",
        "Closes [KETTLE-12](https://jira.example.org/KETTLE-12)",
        "Bug 1234567",
        "Issue 15",
        "[Finishes #1234]",
        "Cherry-picked from commit `0123456789`.",
        "See merge request acme/pots!77",
        "Related work items: #47, #48\n\n[skip ci]",
        "[ci skip]\n[skip actions]",
        "***NO_CI***",
        "See also:\n  - #12\n  - https://example.org/lids",
        "References:\n\n- https://example.org/lids\n- #12",
        "https://example.org/lids",
        f"(cherry picked from commit {HASH})\n\nSigned-off-by: Bob Baker <bob@example.org>",
        "Reverts acme/pots#7",
        f'Fixes: {HASH[:12]} ("lid: make close_lid() return how\nmany it closed")\nCc: <a@b.c> # 4.9+: in the sea',
        "Change-Id: I0123\nReviewed-on: https://review.example.org/12\nTested-by: Ann Lee",
        "BUG=b:1234\nBRANCH=none\nTEST=none",
        "Reviewers: O12, mary (blocking), #pots\n\n"
        "Maniphest Tasks: T123, T124\n\nSubscribers: tomas\n\nDepends On: D12",
        "Reviewers:\n  bob\n  mary\n\nAuditors: tomas\n\nJIRA Issues: ABC-12\n\nRevert Plan: none",
        "Reviewed By: mary\nBlame Revision:\nMaster Task: T12\nPlatform Impact of Changes: none",
        "PR:\t\t12\nReviewed by:\tmary, tomas (earlier version)\n"
        "Obtained from:\tOpenBSD\nMFC after:\t1 week\nEvent:\tTea 2023",
        "Bugs closed: 1234\n\nReviewed at https://reviews.example.org/r/123/",
        "RELNOTES: None\n"
        "COPYBARA_INTEGRATE_REVIEW=https://example.org/pull/12 from ann:lid 0123456\nMOE_MIGRATED_REVID=12",
        "Closes-Bug: #123\nImplements: blueprint lid\nDocImpact\nAPIImpact\nDepends-On: https://review.example.org/12",
        "Submitted by: Mary\nReview: bob, mary\nApproved by: portmgr (blanket)",
        "Bugzilla ID: 12\nr=bob, a=mary",
        "Bug: none\nRelease-Notes: none\nChange-Id: I2",
        "Reviewed By: ann\n\nTags: #pots\n\nDifferential Revision: https://example.org/D12",
        "Reviewed by:\tkib\nMFC after:\t1 week\nPR:\t12345",
        "Story: 2001234\nTask: 12345\nCloses-Bug: #12\nDepends-On: I0123456789012345678901234567890123456789",
        "git-svn-id: https://svn.example.org/trunk@123 0123",
        "PR-URL: https://example.org/pull/1\nReviewed-By: Ann Lee <ann@example.org>",
        f"(cherry picked from commit {HASH})\n\n01234567 Boil less\n89abcdef Cool",
        "<!-- Say what you tested,\nand how. -->",
        "## Summary by CodeRabbit\n\n- **New**: lids of glass.",
        "# Please enter the commit message for your changes.\n#\n# On branch main",
        "---------\n\nCo-authored-by: Bob Baker <bob@example.org>",
        "----\n#### AI description  (iteration 1)\nNew lids.\n\nRelated work items: #1",
    ],
)
def test_footers_of_any_form_are_not_text(footer: str) -> None:
    assert own_text(f"It is of wood.\n\n{footer}\n") == "It is of wood."
    assert own_text(footer) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Note: this also fixes #4.",
        "Note: this also\nfixes #4.",
        "Warning: the lid is hot.\nNote: the pot is not.",
        "Before: 12\nAfter: 7",
        "TODO: paint it",
        "Follow-up: paint it",
        "Wall-time: 9.1s",
        "BREAKING CHANGE: the lid opens now",
        "Fixes: the lid no longer leaks",
        "Closes #4: the tap dripped",
        "Fixes: #4 and the tap that dripped",
        "Closes #4\nand makes the lid whole.",
        "Cc: everybody who likes tea",
        "Reviewed-by: nobody yet, since everyone is away.",
        "It was seen twice; it also\nfixes #4.",
        "It moved to\nhttps://example.org/lids",
        "It moved [1].\n\n[1] https://example.org/lids",
        "It moved, and is here:\n\nhttps://example.org/lids",
        "It moved, and is now at\n\nhttps://example.org/lids",
        "An example:\n\n    Fixes: #12",
        "The format is now\n\nSigned-off-by: Ann\n\nand no more.",
        "This refs #4 and closes the old tap, which nobody used.",
        "Changes:\n\n* a lid\n* a spout",
        "See https://example.org/lids for\nmore information.\n\nThey are of glass.",
        "Lid code:  03e80000\nPot code:  03e60000",
        "Part 2 of 3",
        "Change 3 of 5.",
        "lid-maker: make more of them, of glass",
        "We honour [skip ci]",
        "Thanks to Bob for the lid (#4).",
    ],
)
def test_a_paragraph_of_the_authors_is_not_cut_off_for_its_form(text: str) -> None:
    assert own_text(text) == text
    assert own_text(f"It is of wood.\n\n{text}\n\nRefs: #12\nChange-Id: I1\n") == f"It is of wood.\n\n{text}"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("Fixes #15\n\nThe lid was loose.", "The lid was loose."),
        ("The lid was loose.\nFixes #15", "The lid was loose."),
        ("- tighten the lid\n- Fixes #15", "- tighten the lid"),
        ("Note: the lid may stay open.\nSigned-off-by: Ann Lee", "Note: the lid may stay open."),
        ("BUG=b:1\nTEST=the pot boils and\nnothing leaks\n\nChange-Id: I1", "TEST=the pot boils and\nnothing leaks"),
        ("Only words. [skip ci]", "Only words."),
        (
            "* boil\n\nCloses #1\n\n* Merge branch 'main' into lid\n\n* cool\n\nSigned-off-by: Ann Lee\n\n---------\n",
            "* boil\n\n* cool",
        ),
        (
            f"This reverts commit {HASH}.\n\nReason for revert: it leaked\n\n"
            "Original change's description:\n> Boil\n>\n> Two cups.\n\nBug: 123",
            "Reason for revert: it leaked",
        ),
    ],
)
def test_the_authors_lines_stay_between_those_of_programs(body: str, text: str) -> None:
    assert own_text(body) == text


@pytest.mark.parametrize(
    ("body", "own"),
    [
        ("Summary:\nIt leaked.\n\nTest Plan: Boiled eggs.\n\nReviewed By: bob", "It leaked.\n\nBoiled eggs."),
        ("It leaked.\n\nTesting Done:\nBoiled eggs.\n\nBugs closed: 12", "It leaked.\n\nBoiled eggs."),
        ("Summary: it is wet.", "Summary: it is wet."),
        ("Test Plan: I have none yet, which worries me.", "Test Plan: I have none yet, which worries me."),
        ("Tags: they are never sorted, so nobody finds them.", "Tags: they are never sorted, so nobody finds them."),
    ],
)
def test_the_labels_of_a_review_tool_go_with_its_fields(body, own):
    assert own_text(body) == own
