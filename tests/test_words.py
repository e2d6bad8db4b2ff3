import io

import pytest
from rich.console import Console

from nses.words import duration, in_words, say, short


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (-0.00012345, "-0.0001234"), (9999.4, "9999"), (12345.6, "12,346")],
)  # fmt: skip
def test_a_short_number_has_four_digits_that_matter(value, text):
    assert short(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0:00"), (59.6, "1:00"), (61, "1:01"), (3600, "1:00:00")]
)
def test_a_duration_has_hours_only_where_it_takes_any(seconds, text):
    assert duration(seconds) == text


def test_a_line_that_is_said_can_be_copied():
    file = io.StringIO()
    say(Console(file=file, width=20), "run", "[bold] a name that is longer than the terminal")
    assert file.getvalue() == "run            [bold] a name that is longer than the terminal\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (True, "yes"),
        (1234, "1234"),
        (1234567, "1,234,567"),
        (0.123456789, "0.1235"),
        ("a name", "a name"),
        ({"numpy": "2.0", "n": 20}, "numpy 2.0, n 20"),
        ([0.5, 1], "0.5, 1"),
        ([], "none"),
        (list(range(15)), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 … (3 more)"),
    ],
)
def test_any_value_has_words(value, text):
    assert in_words(value) == text
