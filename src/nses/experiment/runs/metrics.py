"""The lines of metrics.jsonl for people who calculate: a list of records that is also a table."""

from collections.abc import Iterable
from typing import Any, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from nses.experiment.runs.log import LISTS, Record


class Metrics(list[Record]):
    """`metrics[-1]` is the last generation, `metrics["score"]` a column.

    Pandas and Polars take it as it is, `pandas.DataFrame(run.metrics)`, and by `columns`.
    """

    @overload
    def __getitem__(self, key: SupportsIndex) -> Record: ...
    @overload
    def __getitem__(self, key: slice) -> list[Record]: ...
    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    def __getitem__(self, key: SupportsIndex | slice | str) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self._names():
            raise KeyError(f"there is no column {key!r}; there are {', '.join(self._names())}.")
        return _column(record.get(key) for record in self)

    @property
    def columns(self) -> dict[str, Any]:
        """All columns by name: arrays of numbers with NaN where one is missing, or lists."""
        table: dict[str, Any] = {name: self[name] for name in self._names() if name not in LISTS}
        lists = [name for name in self._names() if name in LISTS]
        return table | {name: [record.get(name, []) for record in self] for name in lists}

    def _names(self) -> list[str]:
        """Lines of older runs have fewer."""
        return list(dict.fromkeys(name for record in self for name in record))

    def __repr__(self) -> str:
        last = f"; the last is {self[-1]['generation']}" if self else ""
        return f"<{len(self):,} generations{last}; columns {', '.join(self._names())}>"


def _column(values: Iterable[Any]) -> NDArray[Any]:
    """(T,) of integers if all are, else of floats; (T, …) of lists of equal length."""
    known = list(values)
    if all(type(x) is int for x in known):
        return np.array(known, np.int64)
    try:
        return np.array(known, np.float64)
    except (TypeError, ValueError):  # lists of different lengths, or what somebody else has added
        column = np.empty(len(known), object)
        column[:] = known
        return column
