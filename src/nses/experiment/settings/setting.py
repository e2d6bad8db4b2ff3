"""How a setting is declared: once, with all that follows from it.

The name, the type and the default are those of the field of Config, the help is the text under it.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Kind(Enum):
    RUN = "makes it another run"
    TASK = "makes it another run, and is an argument of the task"
    PRACTICAL = "says where and how fast a run happens, not what it is"


@dataclass(frozen=True)
class Setting:
    """What is declared of a setting; the defaults are those of most."""

    kind: Kind = Kind.RUN
    changes: bool = False  # whether a run may change it on its way and still be the same run
    experiment: bool = False  # whether an experiment decides it for each of its runs

    symbol: str | None = None  # its name among the Hyperparameters of core
    yes: str | None = None  # where those only ask whether: the choice that means yes
    formerly: Mapping[str, str] = field(default_factory=dict)  # choices by their former names
    episodes: bool = False  # of them: whether it is about episodes, not about their results

    at_least: float = -math.inf
    above: float = -math.inf
    at_most: float = math.inf
    letters: int | None = None  # most letters of a text, or of every entry of a list
    entries: int | None = None  # most entries of a list
    among: Collection[str] | None = None  # the names in a table, one of which it is
    rule: Callable[[Any], Iterable[str]] = lambda value: ()  # what else is wrong with a value

    @property
    def changeable(self) -> bool:
        return self.changes or self.kind is Kind.PRACTICAL

    def hyperparameter(self, value: Any) -> Any:
        """The value in the words of core."""
        return value if self.yes is None else value == self.yes

    def current(self, value: Any) -> Any:
        """The value by its name of today."""
        return self.formerly.get(value, value) if isinstance(value, str) else value

    def violations(self, name: str, value: Any) -> Iterator[str]:
        """What is wrong with a value of the right type, a sentence each."""
        if value is None:
            return
        if isinstance(value, int | float):
            yield from self._out_of_range(name, value)
        else:
            yield from self._too_much(name, value)
        if self.among is not None and value not in self.among:
            yield f"{name} must be one of {', '.join(self.among)}, got {value!r}."
        yield from self.rule(value)

    def _out_of_range(self, name: str, value: float) -> Iterator[str]:
        bounds = {"at least": self.at_least, "greater than": self.above, "at most": self.at_most}
        limits = [f"{words} {bound:g}" for words, bound in bounds.items() if math.isfinite(bound)]
        inside = self.at_least <= value <= self.at_most and self.above < value
        if limits and not (inside and math.isfinite(value)):  # NaN fails every comparison
            yield f"{name} must be {' and '.join(limits)}, got {value}."

    def _too_much(self, name: str, value: Any) -> Iterator[str]:
        if self.entries is not None and len(value) > self.entries:
            yield f"{name} must have at most {self.entries:,} entries, got {len(value):,}."
        if self.letters is None:
            return
        for text in [value] if isinstance(value, str) else value:
            if len(text) > self.letters:
                yield f"{name} must have at most {self.letters:,} letters, got {len(text):,}."
            if any("\ud800" <= letter <= "\udfff" for letter in text):  # no file takes them
                yield f"{name} must be text, got {text!r}, which has half a letter."


def declared(**words: Any) -> dict[str, Setting]:
    """The metadata of a field."""
    return {"setting": Setting(**words)}


def setting(default: T, **words: Any) -> T:
    """A field with a default and what else is declared of it: the words are those of Setting."""
    return cast(T, field(default=default, metadata=declared(**words)))


def settings_of(config: type) -> dict[str, Setting]:
    """What is declared, by name."""
    return {f.name: f.metadata["setting"] for f in fields(config)}
