"""What the simulated curves of `python -m benchmarks cluster-scaling` start from."""

import numpy as np
import pytest
from benchmarks.scaling.curves import EXPERIMENT, WAYS, line_of, outcome
from benchmarks.scaling.workloads import assumed, workloads

from nses.experiment.settings.recipes import recipe


def test_an_assumed_distribution_has_the_mean_and_the_longest_that_it_was_given():
    for longest, mean in ((0.30, 0.26), (4.9, 2.72)):
        seconds = assumed(longest, mean)
        assert seconds.max() == longest
        assert seconds.mean() == pytest.approx(mean, rel=0.01)


def test_the_work_is_of_the_papers_size():
    for name, work in workloads().items():
        task = "humanoid" if name.startswith("humanoid") else "atari:frostbite"
        config = recipe(task, "paper", "nsra-es")
        assert (work.n, work.members) == (config.n, config.members)
        assert work.parameters == (166_673 if task == "humanoid" else 1_009_058)
        assert np.all(work.seconds > 0)
        assert 0.05 < work.gradient < 2


def test_a_line_says_time_efficiency_traffic_and_bottleneck():
    work = workloads()["humanoid, untrained"]
    for way in (WAYS[0], EXPERIMENT):
        text = line_of("x", way, outcome(work, way, 10_000))
        assert text.count("|") == 10
        assert all(unit in text for unit in (" s |", " % |", " MB |"))
