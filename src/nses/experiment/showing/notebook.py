"""Progress in a notebook: a bar that is drawn where the cell shows its output."""

import sys
import time
from typing import Any

from nses.core.values import State
from nses.experiment.settings.config import Config
from nses.experiment.showing.markup import element
from nses.experiment.showing.pace import Pace, numbers

REFRESH = 0.25  # seconds between two drawings


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this process; a terminal with IPython is none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


class NotebookView:
    """A listener that shows the progress of training; use it as a context manager."""

    def __init__(self, config: Config):
        from IPython.display import display  # type: ignore[import-not-found]

        self.config, self.pace = config, Pace(config.generations)
        self.done, self.text, self.drawn = 0, "starting", 0.0
        self.handle: Any = display(self, display_id=True)

    def __call__(self, state: State, record: dict[str, Any]) -> None:
        self.done = record["generation"]
        self.text = f"{numbers(record)}  {self.pace.left(self.done)} left"
        if time.monotonic() - self.drawn >= REFRESH:
            self._draw()

    def _draw(self) -> None:
        self.drawn = time.monotonic()
        self.handle.update(self)

    def _repr_html_(self) -> str:
        c = self.config
        bar = element("progress", value=self.done, max=c.generations, style="width:16em")
        title = element("b", f"{c.task} {c.algorithm}")
        return element(
            "div", title, " ", bar, f" {self.done}/{c.generations} ", element("code", self.text)
        )

    def __repr__(self) -> str:
        return f"generation {self.done}/{self.config.generations}  {self.text}"

    def __enter__(self) -> "NotebookView":
        return self

    def __exit__(self, *_: object) -> None:
        self._draw()
