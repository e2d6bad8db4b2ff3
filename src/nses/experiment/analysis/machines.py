"""What a simulation of many CPUs starts from, and what it comes to.

The costs of messages were measured with Ray 2.60 on two busy cores; `docs/scaling.md` says how.
"""

from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from nses.core.values import Floats

ROW = 27  # bytes of a result on its way back
CHECKPOINTS = 30.0  # seconds between two of them
UPDATE = 2e-3  # seconds for the ranks and the step of the optimizer
RIGHT = 0.9  # share of right guesses of the next member, if there are several
CANDIDATE = 13  # bytes of a candidate on its way out: seed, half an offset, and a flag


@dataclass(frozen=True, eq=False)
class Work:
    """A generation of one run: its episodes, and what its coordinator does."""

    seconds: Floats  # of episodes on one CPU; those of a generation are drawn from these
    n: int
    evaluation_episodes: int
    slower: float = 1.0  # times as long for an episode of an evaluation as for a candidate's
    assessments: int = 1  # evaluations a generation, one after the other
    members: int = 1
    parameters: int = 0
    gradient: float = 0.0  # seconds on one thread
    update: float = 0.0  # seconds of the coordinator before the new member is evaluated
    logs: float = 0.0  # seconds after that
    checkpoint: float = 0.0  # seconds to write one, where it is due
    entry: int = 16  # bytes of a behavior

    @property
    def episodes(self) -> int:
        return self.n + self.assessments * self.evaluation_episodes

    @property
    def useful(self) -> float:
        """CPU seconds of a generation's episodes."""
        evaluated = self.assessments * self.evaluation_episodes * self.slower
        return (self.n + evaluated) * float(np.mean(self.seconds))

    def job_bytes(self, candidates: int) -> int:
        return 4 * self.parameters + CANDIDATE * candidates + self.entry


@dataclass(frozen=True)
class Costs:
    """What it costs to talk to a node."""

    call: float  # seconds of the coordinator, whatever the call carries
    latency: float  # seconds, one way
    bandwidth: float  # bytes a second, of the coordinator's link


RAY = Costs(call=0.69e-3, latency=2.15e-3, bandwidth=1.25e9)  # a link of 10 Gbit/s
PROCESSES = Costs(call=5e-5, latency=5e-5, bandwidth=inf)  # one machine: pipes and shared memory


@dataclass(frozen=True)
class Cluster:
    """CPUs, spread evenly over nodes."""

    cpus: int
    nodes: int = 1
    costs: Costs = PROCESSES

    @property
    def sizes(self) -> list[int]:
        """CPUs of every node."""
        few, more = divmod(self.cpus, self.nodes)
        return [few + 1] * more + [few] * (self.nodes - more)


@dataclass(frozen=True)
class Tricks:
    """What the backend does so that no CPU waits."""

    gradient_on_nodes: bool = False  # split by parameters, a block for each node
    foresight: float = 0.0  # share of right guesses of the next member; 0: it does not look ahead
    early: bool = False  # looks ahead from the tail on, where the guess is another member
    unit: int = 2  # episodes that a worker takes at once when few are left


PLAIN = Tricks()


CAUSES = {
    "handing out": "messages",
    "tail": "waiting for the last episodes of a generation",
    "gradient": "waiting for the gradient",
    "evaluation": "waiting for the evaluation of the new member",
    "bookkeeping": "waiting for logs and checkpoints",
    "wrong guesses": "episodes of a member that was not chosen",
}


@dataclass(frozen=True)
class Outcome:
    """Of one run, or of several that share the CPUs; all figures are of one generation of a run."""

    cluster: Cluster
    runs: int
    generation: float  # seconds
    efficiency: float  # CPU time of episodes that count / all CPU time
    bytes: float  # in and out of the coordinator
    calls: float
    lost: dict[str, float] = field(default_factory=dict[str, float])  # share of all CPU time

    @property
    def bottleneck(self) -> str:
        """What most of the lost CPU time is lost to."""
        return max(self.lost, key=lambda cause: self.lost[cause], default="nothing")

    @property
    def cause(self) -> str:
        """The same for people."""
        return CAUSES.get(self.bottleneck, self.bottleneck)

    def core_hours(self, generations: int) -> float:
        """Of one run, with its share of the idle time."""
        return self.generation * generations * self.cluster.cpus / self.runs / 3600


def lasting(work: Work, seconds: float) -> Work:
    """The same work with episodes that all last so long."""
    return replace(work, seconds=np.array([seconds]))
