"""Code of others, called with due care."""

import random

import numpy as np
import pytest

from nses.rollouts.foreign import (
    Interrupted,
    Quit,
    errors_only,
    generators_kept,
    seed_global_generators,
)


def numbers() -> tuple[float, float]:
    return random.random(), float(np.random.random())  # noqa: NPY002  (the global ones)


@pytest.mark.parametrize("end", [SystemExit(0), GeneratorExit("a library's own")])
def test_what_would_end_the_program_is_an_error_like_any_other(end: BaseException) -> None:
    with pytest.raises(Quit, match=type(end).__name__), errors_only():
        raise end


@pytest.mark.parametrize("error", [ValueError(), KeyboardInterrupt(), Interrupted()])
def test_errors_and_the_users_own_wish_to_stop_pass_through(error: BaseException) -> None:
    with pytest.raises(type(error)), errors_only():
        raise error


def test_global_random_numbers_follow_from_the_seed_and_are_the_callers_again_afterwards() -> None:
    seed_global_generators(1)
    expected = numbers()
    seed_global_generators(1)
    with generators_kept():
        seed_global_generators(2**40)
        other = numbers()
    assert numbers() == expected != other
