"""Names of Atari games."""

import pytest

from nses.rollouts.tasks.games import letters


@pytest.mark.parametrize("name", ["ms_pacman", "MsPacman", "Ms. Pac-Man", "MSPACMAN"])
def test_all_spellings_of_a_game_have_the_same_letters(name: str) -> None:
    assert letters(name) == "mspacman"
