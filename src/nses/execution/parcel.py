"""The rows of some candidates, on their way from one machine to another."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.core.values import Floats
from nses.execution.job import COLUMNS, DONE, FirstTrace, Job, Rows

NARROW = [name for name in COLUMNS if name != "observed"]


@dataclass(frozen=True, eq=False)
class Parcel:
    """Rows by candidate. Observations are wide and few contribute them, so they travel apart."""

    indices: NDArray[np.int64]
    columns: dict[str, NDArray[Any]]
    tellers: NDArray[np.int64]  # positions of the candidates that contribute
    observed: Floats  # a row for each of them
    first: FirstTrace | None

    def write(self, rows: Rows, chosen: NDArray[np.bool_]) -> None:
        """Writes the chosen rows to their places."""
        for name in NARROW:
            getattr(rows, name)[self.indices[chosen]] = self.columns[name][chosen]
        telling = chosen[self.tellers]
        rows.observed[self.indices[self.tellers[telling]]] = self.observed[telling]

    def contradiction(self, rows: Rows, again: NDArray[np.bool_]) -> int | None:
        """A candidate whose earlier result was not the same to the bit, if there is one.

        A failure contradicts nothing: its machine may have run out of memory.
        """
        for i in np.flatnonzero(again & (self.columns["status"] == DONE)):
            place = self.indices[i]
            known = {name: getattr(rows, name)[place].tobytes() for name in NARROW}
            new = {name: self.columns[name][i].tobytes() for name in NARROW}
            if rows.status[place] == DONE and known != new:
                return int(place)
        return None


def parcel_of(job: Job, rows: Rows, indices: list[int], first: FirstTrace | None) -> Parcel:
    """Copies of these rows, because they are views of memory that changes."""
    chosen = np.array(indices, np.int64)
    tellers = np.flatnonzero(job.contributes[chosen])
    return Parcel(
        indices=chosen,
        columns={name: getattr(rows, name)[chosen] for name in NARROW},
        tellers=tellers,
        observed=rows.observed[chosen[tellers]],
        first=first,
    )
