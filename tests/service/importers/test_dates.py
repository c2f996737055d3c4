from __future__ import annotations

import pytest

from pearl.errors import InputError
from pearl.texts import format_timestamp
from service.importers.dates import date_in_name, read_date


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2024-03-01", "2024-03-01T00:00:00Z"),
        ("2024-3-1", "2024-03-01T00:00:00Z"),
        ("2024/03/01", "2024-03-01T00:00:00Z"),
        ("2024-03-01 9:05", "2024-03-01T09:05:00Z"),
        ("2024-03-01 10:00:00 +01:00", "2024-03-01T09:00:00Z"),
        ("2024-03-01 10:00:00 +0100 CET", "2024-03-01T09:00:00Z"),
        ("2024-03-01T09:00:00.000Z", "2024-03-01T09:00:00Z"),
        ("2024-03-01 Fri 09:30", "2024-03-01T09:30:00Z"),
        ("<2024-03-01 Fri>", "2024-03-01T00:00:00Z"),
        ("[[2024-03-01]]", "2024-03-01T00:00:00Z"),
        ("1.3.2024", "2024-03-01T00:00:00Z"),
        ("01. 03. 2024, 09:05", "2024-03-01T09:05:00Z"),
        ("1955-03-01", "1955-03-01T00:00:00Z"),
        ("20240301", "2024-03-01T00:00:00Z"),
        ("202403010930", "2024-03-01T09:30:00Z"),
        ("Mar 01 2024", "2024-03-01T00:00:00Z"),
        ("March 1st, 2024", "2024-03-01T00:00:00Z"),
        ("1 March 2024", "2024-03-01T00:00:00Z"),
        ("Friday, March 1, 2024 9:30 PM", "2024-03-01T21:30:00Z"),
        ("Fri, 01 Mar 2024 10:00:00 +0100", "2024-03-01T09:00:00Z"),
        ("1709283600", "2024-03-01T09:00:00Z"),
        (1709283600000, "2024-03-01T09:00:00Z"),
        (["2024-03-01"], "2024-03-01T00:00:00Z"),
    ],
)
def test_dates_as_people_and_programs_write_them(value, moment):
    assert format_timestamp(read_date(value)) == moment


@pytest.mark.parametrize("value", ["soon", "2024-13-01", "1 Foo 2024", "", {"a": 1}, "2024-03-01 " + "x" * 9_999])
def test_what_is_no_date(value):
    with pytest.raises(InputError):
        read_date(value)


@pytest.mark.parametrize(
    ("name", "moment", "exact"),
    [
        ("2024-03-01-tea.md", "2024-03-01T00:00:00Z", True),
        ("journals/2024_03_01.md", "2024-03-01T00:00:00Z", True),
        ("20240301 tea.md", "2024-03-01T00:00:00Z", True),
        ("202403010930 tea.md", "2024-03-01T09:30:00Z", True),
        ("daily.journal.2024.03.01.md", "2024-03-01T00:00:00Z", True),
        ("tea-2024-03-01.md", "2024-03-01T00:00:00Z", True),
        ("2024-03-01-tea/index.md", "2024-03-01T00:00:00Z", True),
        ("2024/03/01/tea.md", "2024-03-01T00:00:00Z", True),
        ("2024/03/01-tea.md", "2024-03-01T00:00:00Z", True),
        ("2024/03-01 tea.md", "2024-03-01T00:00:00Z", True),
        ("2024/03/tea.md", "2024-03-01T00:00:00Z", False),
        ("2024-03 tea.md", "2024-03-01T00:00:00Z", False),
        ("2024/tea.md", "2024-01-01T00:00:00Z", False),
        ("1955-03-01 tea.md", "1955-03-01T00:00:00Z", True),
    ],
)
def test_dates_in_names(name, moment, exact):
    found = date_in_name(name)
    assert found is not None
    assert (format_timestamp(found.start), found.exact) == (moment, exact)


@pytest.mark.parametrize(
    "name", ["tea.md", "1024-03-01.md", "2024-99-99.md", "9999-01-01.md", "123456789012.md", "a1709283600.md"]
)
def test_names_without_a_date(name):
    assert date_in_name(name) is None


def test_a_month_or_year_in_a_name_bounds_what_else_is_known():
    march = date_in_name("2024/03/tea.md")
    assert march is not None
    assert march.within(1710000000.0) == 1710000000.0
    assert march.within(1720000000.0) == march.start
