"""Rows that travel arrive as they were, and contradictions are found."""

from dataclasses import replace

import numpy as np

from batches import archive, perturbed, plan_of
from environments import drift
from nses.execution.job import DONE, FAILED, empty_rows, job_of
from nses.execution.parcel import parcel_of

PLAN = plan_of(drift())
JOB = job_of(perturbed(PLAN, 8), archive(3))


def some_rows():  # type: ignore[no-untyped-def]
    rng, rows = np.random.default_rng(0), empty_rows(8, PLAN)
    rows.f[:], rows.N[:], rows.b[:] = rng.random(8), rng.random(8), rng.random((8, 2))
    rows.lengths[:], rows.status[:] = range(8), DONE
    rows.observed[JOB.contributes] = 7.0
    return rows


def test_chosen_rows_arrive_with_the_observations_of_those_that_contribute():
    sent, received = some_rows(), empty_rows(8, PLAN)
    parcel = parcel_of(JOB, sent, [5, 2, 3], None)
    assert parcel.observed.shape[0] == 1  # of candidate 3
    parcel.write(received, np.array([True, False, True]))
    for name in ("f", "N", "b", "lengths", "status", "observed"):
        np.testing.assert_array_equal(getattr(received, name)[[3, 5]], getattr(sent, name)[[3, 5]])
    assert received.status[[0, 1, 2, 4, 6, 7]].tolist() == [0] * 6


def test_observations_of_an_older_job_do_not_travel():
    rows = some_rows()
    rows.observed[:] = 7.0
    nobody = replace(JOB, contributes=np.zeros(8, np.bool_))
    assert parcel_of(nobody, rows, list(range(8)), None).observed.size == 0


def test_a_row_with_another_bit_than_before_is_a_contradiction():
    known, again = some_rows(), np.ones(3, np.bool_)
    assert parcel_of(JOB, known, [1, 4, 6], None).contradiction(known, again) is None
    other = some_rows()
    other.N[4] = np.nextafter(other.N[4], 2.0)
    parcel = parcel_of(JOB, other, [1, 4, 6], None)
    assert parcel.contradiction(known, again) == 4
    assert parcel.contradiction(known, np.array([True, False, True])) is None


def test_a_failure_contradicts_nothing():
    known, other = some_rows(), some_rows()
    other.fail(4)
    everything = np.ones(8, np.bool_)
    assert other.status[4] == FAILED
    for a, b in ((known, other), (other, known)):
        assert parcel_of(JOB, a, list(range(8)), None).contradiction(b, everything) is None
