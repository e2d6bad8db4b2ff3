"""A run, and everything that the commands do with one, as methods."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nses.errors import NsesError, UsageError
from nses.experiment.analysis.diagnosis import diagnosed
from nses.experiment.analysis.groups import Group
from nses.experiment.analysis.planes import plane_of
from nses.experiment.analysis.stories import AXES, Story, story_of
from nses.experiment.evaluate import evaluate
from nses.experiment.export.onnx import Exported, export
from nses.experiment.export.video import render
from nses.experiment.runs import run as stored
from nses.experiment.runs.replay import answer, play, rebuild
from nses.experiment.showing import charts, maps, plots
from nses.experiment.showing.info import facts_of
from nses.experiment.showing.markup import element
from nses.experiment.showing.plots import Figure
from nses.experiment.showing.report import write_run_report
from nses.rollouts.policies.own import Network
from nses.rollouts.tasks.own import Brought
from nses.words import short

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as PlotlyFigure

Plot = Literal["learning", "map", "archive", "weight", "selection"]
Axis = Literal["generation", "episodes", "env_steps", "hours"]
FACTS = ("task", "algorithm", "seed", "generation", "stopped", "best score", "re-test")


@dataclass(frozen=True, repr=False)
class Run(stored.Run):
    """A run directory; `nses.load(directory)` gives one."""

    evaluate = evaluate
    render = render

    def replay(
        self,
        generation: int,
        *,
        candidate: int | None = None,
        member: int | None = None,
        task: Brought | None = None,
    ) -> dict[str, Any]:
        """Rebuild a past policy, play its episodes again, and say whether the returns agree.

        It is that of the member which the generation updated, or of another one, or of a candidate.
        """
        past = rebuild(self, generation, member=member, candidate=candidate)
        return answer(past, play(self, past, task))

    def export(self, policy: str = "best", output: str | Path | None = None) -> Exported:
        """Write policy.onnx and MODEL_CARD.md, to the run directory if no other is given."""
        return export(self, policy, output)

    def report(self, path: str | Path | None = None) -> Path:
        """Write the page of the run, report.html in its directory if no other path is given."""
        return write_run_report(self, None if path is None else Path(path))

    def plot(self, what: Plot = "learning", by: Axis = "generation") -> "PlotlyFigure":
        """A figure, which a notebook shows; `by` is the horizontal axis of learning curves.

        learning: returns; map: where policies ended; archive: how it grew; weight: of reward
        against novelty; selection: which member was updated.
        """
        import plotly.graph_objects as plotly

        if what not in PLOTS or by not in AXES:
            raise UsageError(
                f"there are plots of {', '.join(PLOTS)}, by {', '.join(AXES)}; "
                f"got {what!r} by {by!r}."
            )
        story = story_of(self)
        figure = PLOTS[what](story, by) if story.records else None
        if figure is None:
            raise UsageError(f"{self.path} has nothing to show for {what!r}.")
        return plotly.Figure(data=figure["data"], layout=figure["layout"], skip_invalid=True)

    @property
    def diagnosis(self) -> list[str]:
        """What probably went wrong, in sentences, once the run has ended; empty if nothing did."""
        return diagnosed(story_of(self))

    def _repr_html_(self) -> str:
        try:
            facts = {name: fact for name, fact in facts_of(self).items() if name in FACTS}
        except NsesError as error:
            return element("p", f"{self!r}: {error}")
        facts |= {"directory": self.path}
        rows = [
            element("tr", element("th", name), element("td", _said(fact)))
            for name, fact in facts.items()
        ]
        said = [element("li", sentence) for sentence in self.diagnosis]
        return element("table", *rows) + (element("ul", *said) if said else "")


PLOTS = {
    "learning": lambda story, by: plots.figure_of(charts.learning_of(story, by), story.run.path),
    "map": lambda story, by: _map(story),
    "archive": lambda story, by: plots.archive(story),
    "weight": lambda story, by: _weight(story),
    "selection": lambda story, by: plots.selection(story),
}


def _map(story: Story) -> Figure | None:
    plane = plane_of([story])
    return None if plane is None else maps.map_of(story, plane)


def _weight(story: Story) -> Figure | None:
    algorithm = story.run.config.algorithm
    chart = charts.weights([Group(algorithm, algorithm, (story,))])
    return None if chart is None else plots.figure_of(chart)


def _said(fact: object) -> str:
    return short(fact) if isinstance(fact, float) else str(fact)


def load(directory: str | Path, policy: Network | None = None) -> Run:
    """The run in a directory. If it was trained with a policy of your own, pass that to use it.

    `policy` must be the same as in training, or its name, `module:attribute`. Looking at the
    numbers of a run does not need it.
    """
    return Run(**vars(stored.load(directory, policy)))
