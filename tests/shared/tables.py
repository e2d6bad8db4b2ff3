"""Tables of noise that are filled in milliseconds, where their size does not matter."""

from collections.abc import Iterator

import pytest

from nses.experiment.runs import replay
from nses.experiment.settings import build


def small_tables() -> Iterator[None]:
    """For networks that see pixels, with a million parameters; to be made a fixture."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (build, replay):
            patch.setattr(module, "table_size", lambda d: 1 << 21)
        yield
