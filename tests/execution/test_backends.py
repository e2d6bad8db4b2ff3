"""The table of backends: whatever its row, a backend gives the same bits."""

from contextlib import closing
from dataclasses import replace

import pytest

from batches import TABLE, archive, assert_same, perturbed, plan_of, serially, unperturbed
from environments import drift
from nses.errors import UsageError
from nses.execution import backends as module
from nses.execution.backends import BACKENDS, Setup
from nses.experiment.settings.config import Config, changed

PLAN = plan_of(drift())


@pytest.mark.parametrize("name", ["serial", "processes"])  # the others need what not all have
def test_every_backend_gives_the_bits_of_the_serial_one_from_its_own_noise(name: str):
    setup = Setup(TABLE.size, capacity=64, workers=2)
    with closing(BACKENDS[name].start(PLAN, setup)) as backend:
        assert backend.noise.shape == TABLE.shape
        backend.noise[:] = TABLE
        enough = replace(perturbed(PLAN, 200), before=32, enough=404)  # larger than the capacity
        for candidates in (perturbed(PLAN), unperturbed(PLAN), enough):
            assert_same(backend(candidates, archive(20)), serially(PLAN, candidates, archive(20)))


def test_the_configuration_takes_the_backends_of_the_table(monkeypatch: pytest.MonkeyPatch):
    config = Config(task="point-trap")
    with pytest.raises(UsageError, match=r"one of serial, processes.*, got 'third'"):
        changed(config, {"backend": "third"})
    monkeypatch.setitem(BACKENDS, "third", BACKENDS["serial"])
    assert changed(config, {"backend": "third"}).backend == "third"


ASKED = (None, 2, 9)


def test_workers_are_those_asked_for_or_one_for_every_cpu(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "usable_cpus", lambda: 6)
    counts = {name: [row.workers(asked) for asked in ASKED] for name, row in BACKENDS.items()}
    assert counts == {"serial": [0, 0, 0], "processes": [6, 2, 9], "ray": [6, 2, 9]}


def test_this_process_has_as_many_threads_as_the_run_may_use_cpus(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "usable_cpus", lambda: 6)
    counts = {name: [row.threads(asked) for asked in ASKED] for name, row in BACKENDS.items()}
    assert counts == {"serial": [1, 1, 1], "processes": [6, 2, 6], "ray": [6, 2, 6]}
