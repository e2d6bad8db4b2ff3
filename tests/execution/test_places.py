"""Places for jobs in shared memory: which one is taken next."""

import numpy as np

from batches import archive, perturbed, plan_of
from environments import drift
from nses.execution.job import DONE, OPEN, job_of, memory_fields
from nses.execution.places import Places
from nses.execution.shared import zeros

PLAN = plan_of(drift())


def places(count: int) -> Places:
    fields = memory_fields(PLAN.policy.size, 64, PLAN.moments_size, PLAN.behavior_size)
    memories = [{name: zeros(dtype, shape) for name, dtype, shape in fields} for _ in range(count)]
    for memory in memories:
        memory["status"][:] = DONE
    return Places(memories)


def test_a_published_job_is_found_by_its_number_and_open():
    two, job = places(2), job_of(perturbed(PLAN, 8), archive(2))
    for place, number in ((1, 1), (0, 2), (1, 3)):
        assert two.publish(job, place) == number
        assert two.of(number) == place
        np.testing.assert_array_equal(two.memories[place]["status"][:9], [OPEN] * 8 + [DONE])


def test_the_oldest_place_is_taken_unless_it_is_needed_or_somebody_reads_it():
    three, job = places(3), job_of(perturbed(PLAN, 8), archive(2))
    for place in (2, 0, 1):
        three.publish(job, place)
    assert three.vacant(0, ()) == 2
    assert three.vacant(1, ()) == 0
    assert three.vacant(0, {1, 2}) == 1
    assert three.vacant(3, {1, 2}) == 2  # the older of two that are read
