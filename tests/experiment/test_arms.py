"""What experiments compare, and where its runs are kept."""

import pytest

from nses.core.algorithms import ALGORITHMS
from nses.experiment.arms import arms_of


@pytest.mark.parametrize("experiment", ["atari", "seaquest-weight", "humanoid", "swimmer"])
def test_an_experiment_has_arms(experiment):
    arms = arms_of(experiment)
    assert len(arms) == {"atari": 48, "seaquest-weight": 5, "humanoid": 4, "swimmer": 4}[experiment]
    assert len({arm.directory for arm in arms}) == len(arms)


def test_the_weight_study_compares_two_patiences_with_the_other_algorithms_on_seaquest():
    arms = arms_of("seaquest-weight")
    assert {arm.task for arm in arms} == {"atari:seaquest"}
    assert [(arm.algorithm, arm.settings.get("weight_patience")) for arm in arms] == [
        ("es", None), ("ns-es", None), ("nsr-es", None), ("nsra-es", 50), ("nsra-es", 10),
    ]  # fmt: skip


def test_the_papers_width_of_the_trap_is_an_experiment_with_runs_of_its_own():
    narrow, wide = arms_of("point-trap-1.5"), arms_of("point-trap")
    assert [arm.algorithm for arm in narrow] == list(ALGORITHMS)
    assert {arm.task for arm in narrow} == {"point-trap"}
    assert all(arm.settings == {"environment": {"half_width": 1.5}} for arm in narrow)
    assert narrow[0].directory == "point-trap-1.5/es"
    assert not {arm.directory for arm in narrow} & {arm.directory for arm in wide}
