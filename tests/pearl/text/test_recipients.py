from __future__ import annotations

import pytest

from pearl.errors import InputError
from pearl.text.recipients import addressed_by_lines, check_recipient, recipient_of, same_recipient_key


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Nan@Example.org", "nan@example.org"),
        (" nan@example.org ", "nan@example.org"),
        ("Nan Lee <Nan@Example.org>", "nan@example.org"),
        ('"a@x.org" <b@y.org>', "b@y.org"),
        ("a@x.org <b@y.org>", "b@y.org"),
        ("<nan@example.org>", "nan@example.org"),
        ("@nan", "@nan"),
        ("#tea", "#tea"),
        ("Lee, Nan", "Lee, Nan"),
        ("Jürgen Weiß", "Jürgen Weiß"),
        ("お母さん", "お母さん"),
        (42, "42"),
        ("n" * 200, "n" * 200),
    ],
)
def test_a_recipient_as_it_is_kept(given, kept):
    assert check_recipient(given) == kept
    assert check_recipient(kept) == kept


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("", "invalid_id"),
        ("   ", "invalid_id"),
        ("n" * 201, "invalid_id"),
        ("nan@example.org\nBcc: bob@example.org", "invalid_id"),
        ("nan\x00", "invalid_id"),
        ("nan\x1b[31m", "invalid_id"),
        ("\u202enan", "invalid_id"),
        ("nan@example.org, bob@example.org", "several_recipients"),
        ("nan@example.org bob@example.org", "several_recipients"),
        ("Nan <nan@example.org>, Bob <bob@example.org>", "invalid_recipient"),
        ("Nan <not an address>", "invalid_recipient"),
        ("Nan <nan@example.org", "invalid_recipient"),
        ("Nan <<nan@example.org>>", "invalid_recipient"),
        (["nan@example.org"], "wrong_type"),
        (True, "wrong_type"),
    ],
)
def test_what_is_no_recipient(given, code):
    with pytest.raises(InputError, match="--to") as caught:
        check_recipient(given, param="--to")
    assert (caught.value.code, caught.value.param) == (code, "--to")


def test_a_source_without_a_usable_recipient_loses_nothing_else():
    assert recipient_of("Nan\n <nan@example.org>") == "nan@example.org"
    assert recipient_of("undisclosed-recipients:;\x00") is None


@pytest.mark.parametrize(
    ("system", "rest", "recipient", "thread"),
    [
        ("recipient: Nan <nan@example.org>", "", "nan@example.org", None),
        ("Be kind.\n Recipient: #tea\nthread: rails 2\nSign.", "Be kind.\nSign.", "#tea", "rails 2"),
        ("recipient: a@x.org, b@x.org", "recipient: a@x.org, b@x.org", None, None),
        ("The recipient: she is kind", "The recipient: she is kind", None, None),
        ("recipient:", "recipient:", None, None),
        (f"thread: {'t' * 201}", f"thread: {'t' * 201}", None, None),
        (" as it is\n", " as it is\n", None, None),
    ],
)
def test_lines_of_a_system_message_address_a_draft(system, rest, recipient, thread):
    assert addressed_by_lines(system) == (rest, recipient, thread)


def test_spellings_of_one_recipient_are_the_same():
    assert len({same_recipient_key(name) for name in ("@nan", "Nan", "#NAN")}) == 1
    assert same_recipient_key("nan@example.org") != same_recipient_key("nan@example.com")
