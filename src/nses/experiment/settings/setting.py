"""How a setting is declared: once; flags, checks and everything else follow from it.

Its name, type and default are those of the field of Config; its help is the string under the field.
"""

import math
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

T = TypeVar("T")

# Here, where the command line finds them without importing all settings.
RecipeName = Literal["paper", "authors", "laptop", "smoke"]


class Kind(Enum):
    RUN = "makes it another run"
    TASK = "makes it another run, and is passed to the task"
    PRACTICAL = "changes where and how fast a run happens, not its result"


@dataclass(frozen=True)
class Setting:
    """The declaration of a setting; the defaults suit most of them."""

    kind: Kind = Kind.RUN
    changes: bool = False  # whether it may change on resume without making it another run
    experiment: bool = False  # whether `nses reproduce` sets it for each of its runs

    flag: str | None = None  # its flag if that is not its name; given once for each entry
    symbol: str | None = None  # its name among the Hyperparameters of core
    yes: str | None = None  # where that hyperparameter is a bool: the choice that means True
    formerly: Mapping[str, str] = field(default_factory=dict)  # choices by their former names
    spelled: Callable[[Any], Any] = lambda value: value  # the value that a user's spelling means
    episodes: bool = False  # for hyperparameters: whether it is about how episodes are played

    at_least: float = -math.inf
    above: float = -math.inf
    at_most: float = math.inf
    letters: int | None = None  # the longest text, or the longest entry of a list
    entries: int | None = None  # the longest list
    among: Collection[str] | None = None  # the table that it names a row of
    rule: Callable[[Any], Iterable[str]] = lambda value: ()  # further violations, as sentences

    @property
    def changeable(self) -> bool:
        return self.changes or self.kind is Kind.PRACTICAL

    def hyperparameter(self, value: Any) -> Any:
        """The value as core expects it."""
        return value if self.yes is None else value == self.yes

    def current(self, value: Any) -> Any:
        """The value by its current name, from what a user wrote."""
        value = self.spelled(value)
        return self.formerly.get(value, value) if isinstance(value, str) else value

    def violations(self, name: str, value: Any) -> Iterator[str]:
        """Everything wrong with a value of the right type, a sentence each."""
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
            if any("\ud800" <= letter <= "\udfff" for letter in text):  # UTF-8 cannot encode it
                yield f"{name} must be valid Unicode, got {text!r}, which has a lone surrogate."


def declared(**words: Any) -> dict[str, Setting]:
    """The metadata of a field."""
    return {"setting": Setting(**words)}


def setting(default: T, **words: Any) -> T:
    """A field with a default and a declaration; the keywords are the fields of Setting."""
    return cast(T, field(default=default, metadata=declared(**words)))


def settings_of(config: type) -> dict[str, Setting]:
    """The declarations, by name."""
    return {f.name: f.metadata["setting"] for f in fields(config)}


def matches(value: Any, hint: Any) -> bool:
    """Whether a value has the type of a setting."""
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        return any(matches(value, option) for option in get_args(hint))
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(matches(x, get_args(hint)[0]) for x in value)
    if hint is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    return isinstance(value, hint)


def describe(hint: Any) -> str:
    """The type of a setting in words."""
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(get_args(hint))
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(describe(option) for option in get_args(hint))
    if get_origin(hint) is tuple:
        return f"a list, each entry {describe(get_args(hint)[0])}"
    names = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    return names.get(hint, "None")
