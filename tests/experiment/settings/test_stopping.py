"""When a run stops before its last generation, from its settings and from how far it got."""

import re
from dataclasses import replace

import numpy as np
import pytest

from nses.core.moments import nothing
from nses.core.values import Best
from nses.experiment.settings.config import Config, changed
from nses.experiment.settings.stopping import seconds_of, stop_of

BASE = Config(task="point-trap", generations=100)
BEST = Best(np.zeros(1, np.float32), nothing(0), np.zeros(1), score=5.0, generation=10)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("45s", 45), ("30m", 1800), ("1h30m", 5400), ("1.5h", 5400),
     ("1d 12h", 129_600), (" 2h 5s ", 7205)],
)  # fmt: skip
def test_a_time_is_written_as_people_write_it(text, seconds):
    assert seconds_of(text) == seconds
    assert changed(BASE, {"time_limit": text}).time_limit == text


@pytest.mark.parametrize("text", ["", "soon", "5 weeks", "m", "1h1h", "-3s", "1e3", "0s", "0", -1])
def test_what_is_no_time_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match=r"time_limit must be (a time such as|more than)"):
        changed(BASE, {"time_limit": text})


def test_conditions_are_numbers_or_none_and_the_word_none_takes_them_back():
    config = changed(BASE, {"stop_at": 20, "stop_after": 3, "time_limit": np.float32(90)})
    assert (config.stop_at, config.stop_after, config.time_limit) == (20.0, 3, "90s")
    assert type(config.stop_at) is float
    none = dict.fromkeys(("stop_at", "stop_after", "time_limit"), "none")
    assert changed(config, none) == BASE
    for wrong in ({"stop_at": "high"}, {"stop_at": np.nan}, {"stop_after": 0}, {"stop_after": 1.5}):
        with pytest.raises(ValueError, match="stop_"):
            changed(BASE, wrong)


@pytest.mark.parametrize(
    ("settings", "generation", "seconds", "stops"),
    [
        ({}, 50, 1e9, None),
        ({"stop_at": 5.0}, 12, 0.0, "has reached --stop-at 5"),
        ({"stop_at": 5.1}, 12, 0.0, None),
        ({"stop_at": 5.0}, 100, 0.0, None),  # the last generation anyway
        ({"stop_after": 20}, 29, 0.0, None),
        ({"stop_after": 20}, 30, 0.0, "has not risen for 20 generations"),
        ({"time_limit": "1m"}, 30, 59.9, None),
        ({"time_limit": "1m"}, 30, 60.0, r"trained for 1:00 \(--time-limit 1m\)"),
    ],
)
def test_a_run_stops_when_its_settings_say_so_and_not_before(settings, generation, seconds, stops):
    stop = stop_of(changed(BASE, settings), generation, BEST, seconds)
    if stops is None:
        assert stop is None
    else:
        assert stop is not None
        assert re.search(stops, stop.why)
        assert stop.flags == f"--{next(iter(settings)).replace('_', '-')} none"


def test_a_run_plays_at_least_one_generation():
    config = changed(BASE, {"stop_at": -1.0})
    assert stop_of(config, 0, replace(BEST, generation=0), 0.0) is None
