"""When a run stops before its last generation: a function of its settings and of how far it got.

Nothing else is remembered, so an interrupted run stops where it would have stopped anyway, and a
stopped one goes on as soon as the setting that stopped it changes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

from nses.core.values import Best
from nses.errors import UsageError
from nses.words import duration, short

if TYPE_CHECKING:
    from nses.experiment.settings.config import Config

STOPS = ("stop_at", "stop_after", "time_limit")  # the settings
NONE = "none"  # the word that takes a condition back
UNITS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
TIME = re.compile(r"\s*".join(f"(?:{NUMBER} ?{unit})?" for unit in UNITS))


@dataclass(frozen=True)
class Stop:
    """The setting that stopped a run, and why, in words that follow "it stopped:"."""

    setting: str
    why: str

    @property
    def flags(self) -> str:
        """What `nses resume` needs in order to go on."""
        return f"--{self.setting.replace('_', '-')} {NONE}"


def seconds_of(text: str) -> float:
    """90, 45s, 30m, 1.5h or 1d 12h in seconds; UsageError for anything else."""
    if re.fullmatch(NUMBER, text.strip()):
        return float(text)
    match = TIME.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        raise UsageError(
            "time_limit must be a time such as 90s, 30m, 1h30m or a number of seconds, "
            f"got {text[:50]!r}."
        )
    return sum(float(x or 0) * unit for x, unit in zip(match.groups(), UNITS.values(), strict=True))


def too_short(time_limit: str) -> Iterator[str]:
    """The rule of the setting."""
    try:
        if seconds_of(time_limit) <= 0:
            yield f"time_limit must be more than 0 seconds, got {time_limit!r}."
    except ValueError as error:
        yield str(error)


def given(value: Any) -> Any:
    """A condition as it is stored: the word "none" takes it back."""
    return None if isinstance(value, str) and value.strip().lower() == NONE else value


def given_time(value: Any) -> Any:
    """The same for a time, which may be given as a number of seconds."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return f"{float(value):.12g}s" if is_number else given(value)


def stop_of(config: "Config", generation: int, best: Best, seconds: float) -> Stop | None:
    """Why a run with this best policy stops after this generation; None if it goes on.

    `seconds` is the time that it has trained, over all its resumptions.
    """
    if generation < 1 or generation >= config.generations:
        return None
    if config.stop_at is not None and best.score >= config.stop_at:
        why = f"the best score, {short(best.score)}, has reached --stop-at {short(config.stop_at)}"
        return Stop("stop_at", why)
    idle = generation - best.generation
    if config.stop_after is not None and idle >= config.stop_after:
        for_long = f"{idle:,} generation{'s' * (idle != 1)}"
        why = f"the best score has not risen for {for_long} (--stop-after)"
        return Stop("stop_after", why)
    if config.time_limit is not None and seconds >= seconds_of(config.time_limit):
        why = f"it has trained for {duration(seconds)} (--time-limit {config.time_limit})"
        return Stop("time_limit", why)
    return None
