"""What the numbers of a behavior are called."""

import pytest

from nses.rollouts.labels import label_of


@pytest.mark.parametrize(
    ("behavior", "size", "labels"),
    [
        ("final:x,y", 2, ["final x", "final y"]),
        ("mean:position", 2, ["mean position 0", "mean position 1"]),
        ("final:position,speed", 3, ["final position,speed 0"]),
        ("final-observation:0,7", 2, ["final observation 0", "final observation 7"]),
        ("final-observation:3", 1, ["final observation 3"]),
        ("mean-observation", 2, ["mean observation 0", "mean observation 1"]),
        ("final-observation:direction", 1, ["final direction"]),
        ("final-attribute:agent_pos", 2, ["final agent_pos 0", "final agent_pos 1"]),
        ("ram-final", 128, ["final RAM 0", "final RAM 1"]),
        ("trajectory:x", 10, ["x at 1/10", "x at 2/10"]),
        ("package.module:where", 1, ["where"]),
        ("package.module:places.where", 2, ["where 0", "where 1"]),
        ("my own", 2, ["my own 0", "my own 1"]),
        ("", 2, ["behavior 0", "behavior 1"]),
    ],
)
def test_a_number_is_named_after_its_behavior(behavior: str, size: int, labels: list[str]) -> None:
    assert [label_of(behavior, size, i) for i in range(len(labels))] == labels


def test_a_trajectory_of_several_numbers_names_both_the_number_and_the_point() -> None:
    names = [label_of("trajectory:x,y", 20, i) for i in (0, 1, 2, 19)]
    assert names == ["x at 1/10", "y at 1/10", "x at 2/10", "y at 10/10"]
