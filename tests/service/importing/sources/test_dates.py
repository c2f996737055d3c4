from __future__ import annotations

import pytest

from pearl.errors import InputError
from pearl.text.usable import format_timestamp
from service.importing.sources.dates import date_in_name, possible_orders, read_date


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
        ([["2024-03-01"]], "2024-03-01T00:00:00Z"),
        ("![[2024-03-01]]", "2024-03-01T00:00:00Z"),
        ("[[Daily/2024-03-01|a Friday]]", "2024-03-01T00:00:00Z"),
        ("[2024-03-01](2024-03-01.md)", "2024-03-01T00:00:00Z"),
        ("<2024-03-01 Fri>--<2024-03-03 Sun>", "2024-03-01T00:00:00Z"),
        ("2024-03-01 to 2024-03-03", "2024-03-01T00:00:00Z"),
        ("2024-03-01T10:00:00+01:00[Europe/Berlin]", "2024-03-01T09:00:00Z"),
        ("2024-03-01 09:00:00 -3", "2024-03-01T12:00:00Z"),
        ("2024-03-01 09:00:00 +5:30", "2024-03-01T03:30:00Z"),
        ("2024-03-01 9:05 PM", "2024-03-01T21:05:00Z"),
        ("2024-W09-5", "2024-03-01T00:00:00Z"),
        ("20240301T093000Z", "2024-03-01T09:30:00Z"),
        ("2024-03", "2024-03-01T00:00:00Z"),
        ("March 2024", "2024-03-01T00:00:00Z"),
        ("Friday, March 1st 2024, 9:30:20 pm", "2024-03-01T21:30:20Z"),
        ("01-03-2024 09:30 PM", "2024-03-01T21:30:00Z"),
        ("13/1/24", "2024-01-13T00:00:00Z"),
        ("Freitag, 1. März 2024 um 09:30 Uhr", "2024-03-01T09:30:00Z"),
        ("vendredi, mars 1er 2024, 9:30:20 am", "2024-03-01T09:30:20Z"),
        ("viernes, marzo 1º 2024, 9:30:20 am", "2024-03-01T09:30:20Z"),
        ("1 de março de 2024", "2024-03-01T00:00:00Z"),
        ("1 марта 2024 г.", "2024-03-01T00:00:00Z"),
        ("2024年3月1日 下午9:30", "2024-03-01T21:30:00Z"),
        ("Fri Mar  1 10:00:00 CET 2024", "2024-03-01T09:00:00Z"),
        ("Fri Mar 01 2024 10:00:00 GMT+0100 (Central European Time)", "2024-03-01T09:00:00Z"),
    ],
)
def test_dates_as_people_and_programs_write_them(value, moment):
    assert format_timestamp(read_date(value)) == moment


@pytest.mark.parametrize(
    "value",
    [
        *(
            "soon",
            "yesterday",
            "March",
            "12:30",
            "12:30 May 2024",
            "2024-13-01",
            "2024-02-30",
            "1 Foo 2024",
            "Frühling 2024",
            "1.2.3",
        ),
        *("", None, {"a": 1}, [], "2024-03-01 " + "x" * 9_999),
    ],
)
def test_what_is_no_date(value):
    with pytest.raises(InputError):
        read_date(value)


@pytest.mark.parametrize(
    ("value", "orders"),
    [
        ("03/04/2023", {True, False}),
        ("Monday, 3-4-23 9:30", {True, False}),
        ("25/12/2023", {True}),
        ("12/25/2023", {False}),
        ("11/11/2023", set()),
        ("03.04.2023", set()),
        ("2023-03-04", set()),
        ("1/12/2999", set()),
        ("04/30/1999", {False}),
    ],
)
def test_whether_the_day_can_come_first(value, orders):
    assert possible_orders(value) == orders


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
