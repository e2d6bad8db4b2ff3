"""Nodes of a Ray cluster give the bits of the serial evaluator, whoever comes and goes."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from benchmarks.nodes.faults import foremen

import environments
from batches import TABLE, archive, assert_same, perturbed, plan_of, serially, unperturbed
from clusters import Cluster, needs_ray, on_ray, two_nodes
from environments import cursed, drift, faulty, hold_or_die, late_start, note
from nses.core.noise import Epsilon
from nses.core.values import Candidates
from nses.errors import TaskBroken, TooManyFailures, UsageError
from nses.execution import clock, roster
from nses.execution import ray as module
from nses.execution.connecting import Connection
from nses.execution.door import CANDIDATES, left_out
from nses.execution.forecast import Forecast
from nses.execution.job import job_of
from nses.execution.ledger import ATTEMPTS
from nses.execution.ray import Batch, OnRay
from nses.execution.runner import Plan
from nses.execution.summing import pays, summed_on
from nses.execution.versions import PROTOCOL
from nses.execution.watch import nodes_of_the_cluster
from nses.rollouts.episode import Interrupted, never
from traced import trace_archive, traced_plan
from waiting import gone, wait_until

pytestmark = [needs_ray, pytest.mark.slow]

A = archive(20)
HEALTHY = plan_of(drift())
EXPECTED = serially(HEALTHY, perturbed(HEALTHY), A)


DEADLY = 1007  # the seed of an episode that kills its worker


def held_at(gate: Path, curse: Path) -> Plan:
    """The episodes of HEALTHY, which wait for a gate, all but those of the trial at the door.

    No worker can start on a node whose foreman the curse names.
    """
    task = faulty(partial(hold_or_die, gate, DEADLY), range(CANDIDATES, 2000))
    return plan_of(task.revised(make=partial(cursed, curse, task.make)))


cluster = pytest.fixture(scope="module")(two_nodes)

Step = tuple[Callable[[], bool], Callable[[], object]]


def in_turn(evaluate: OnRay, *steps: Step) -> None:
    """While candidates are played: as soon as something has happened, something is done."""
    waiting = list(steps)

    def look() -> bool:
        if waiting and waiting[0][0]():
            waiting.pop(0)[1]()
        return False

    evaluate.should_stop = look


def playing(evaluate: OnRay, nodes: int) -> Callable[[], bool]:
    return lambda: sum(node.asked == "play" for node in evaluate.roster.ready) >= nodes


@pytest.fixture(scope="class")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("held") / "gate"


@pytest.fixture(scope="class")
def lasting(cluster: Cluster, gate: Path) -> Iterator[OnRay]:
    with on_ray(cluster, held_at(gate, gate.with_name("curse"))) as evaluate:
        yield evaluate


class TestOneEvaluator:
    """It survives all of this, so it need not be started again for each test."""

    @pytest.fixture
    def evaluate(self, lasting: OnRay, gate: Path) -> OnRay:
        """With two nodes that are ready, also after others have been lost, and the gate shut."""
        lasting.should_stop = never
        gate.touch()
        for past in (lasting.roster.losses, lasting.roster.back, lasting.roster.refused):
            past.clear()
        while len(lasting.roster.ready) < 2:  # one may finish before the other is there
            assert_same(lasting(perturbed(HEALTHY), archive(20)), EXPECTED)
        gate.unlink()
        return lasting

    def test_two_nodes_give_the_bits_of_the_serial_evaluator_for_archives_that_grow(
        self, evaluate, gate
    ):
        gate.touch()
        A = archive(5)
        for n in (50, 64, 150):
            candidates = perturbed(HEALTHY, n)
            assert_same(evaluate(candidates, A), serially(HEALTHY, candidates, A))
            assert_same(
                evaluate(unperturbed(HEALTHY), A), serially(HEALTHY, unperturbed(HEALTHY), A)
            )
            A = A.append([float(n), 1.0])
        fork = archive(5).append([3.0, 3.0])
        assert_same(evaluate(perturbed(HEALTHY), fork), serially(HEALTHY, perturbed(HEALTHY), fork))

    def test_p7_after_an_interruption_it_still_works(self, evaluate, gate):
        evaluate.should_stop = playing(evaluate, 2)
        with pytest.raises(Interrupted):
            evaluate(perturbed(HEALTHY, 64), archive(3))
        evaluate.should_stop = never
        gate.touch()
        assert_same(evaluate(perturbed(HEALTHY), A), EXPECTED)

    @pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGSTOP])
    def test_p1_a_foreman_killed_or_stopped_changes_nothing_and_leaves_no_worker(
        self, cluster, evaluate, gate, signum
    ):
        victims: list[psutil.Process] = []

        def strike() -> None:
            victim = psutil.Process(foremen(cluster)[0])
            victims.extend([victim, *victim.children(recursive=True)])
            os.kill(victim.pid, signum)
            gate.touch()

        in_turn(evaluate, (playing(evaluate, 2), strike))
        e = evaluate(perturbed(HEALTHY), A)
        assert_same(e, EXPECTED)
        if signum == signal.SIGSTOP:  # which nobody minds before the end
            for node in evaluate.roster.ready:
                evaluate.roster.lose(node, "the test ends its foreman")
        assert gone(victims)

    def test_p9_a_node_that_joins_plays_and_copies_agree_and_killing_its_raylet_changes_nothing(
        self, cluster, evaluate, gate, caplog, capsys
    ):
        joins = (playing(evaluate, 2), lambda: cluster.tell("add"))
        in_turn(evaluate, joins, (playing(evaluate, 3), gate.touch))
        e = evaluate(perturbed(HEALTHY), A)
        assert len(evaluate.roster.ready) == 3
        assert_same(e, EXPECTED)
        gate.unlink()
        lost = evaluate.roster.lost
        dies = (playing(evaluate, 3), lambda: cluster.tell("kill"))
        in_turn(evaluate, dies, (lambda: True, gate.touch))
        assert_same(evaluate(perturbed(HEALTHY), A), EXPECTED)
        while evaluate.roster.lost == lost:  # others may have finished before anybody missed it
            assert_same(evaluate(perturbed(HEALTHY), A), EXPECTED)
        last_words = {"lines": ["Raylet is terminated."], "pid": "raylet", "is_err": False}
        import_module("ray._private.worker").print_to_stdstream(last_words, ignore_prefix=False)
        assert "is lost" in caplog.text
        assert capsys.readouterr().out == ""

    def test_p1_a_node_on_which_no_worker_can_start_is_left_out_and_the_others_go_on(
        self, cluster, evaluate, gate, caplog
    ):
        def strike() -> None:
            victim = psutil.Process(foremen(cluster)[0])
            gate.with_name("curse").write_text(str(victim.pid))
            for worker in victim.children():
                worker.kill()

        out = (lambda: bool(evaluate.roster.refused), gate.touch)
        in_turn(evaluate, (playing(evaluate, 2), strike), out)
        assert_same(evaluate(perturbed(HEALTHY), A), EXPECTED)
        assert len(evaluate.roster.ready) == 1
        assert "is left out: worker after worker died (exit code 7) while starting" in caplog.text

    def test_p2_a_candidate_that_kills_its_workers_fails_alone(
        self, evaluate, gate, caplog, monkeypatch
    ):
        monkeypatch.setattr(module, "TAIL", np.inf)  # copies of it would kill others
        gate.touch()
        candidates = replace(perturbed(HEALTHY), seeds=np.arange(DEADLY - 7, DEADLY + 25))
        e = evaluate(candidates, A)
        assert np.isnan(e.f).nonzero()[0].tolist() == [7]
        assert_same(e, serially(HEALTHY, candidates, A), but=(7,))
        assert "candidate 7 killed 3 workers (SIGSEGV)" in caplog.text
        evaluate.number += 1  # as if two deaths had been told of before
        batch = Batch(evaluate.number, job_of(candidates, A), evaluate.plan, Forecast(0))
        batch.deaths[7] = ATTEMPTS - 1
        evaluate.play(batch)
        assert np.isnan(batch.rows.f).nonzero()[0].tolist() == [7]
        assert batch.deaths[7] == ATTEMPTS

    def test_the_gradient_on_the_nodes_has_the_bits_of_the_one_here(self, evaluate):
        rng = np.random.default_rng(0)
        epsilon = Epsilon(TABLE, rng.integers(0, 100, 32), 3900)
        F = rng.standard_normal(64)
        g = summed_on(evaluate.roster.ready, epsilon, F, threads=1)
        assert g.tobytes() == epsilon.weighted_sum(F).tobytes()
        evaluate.roster.ready[0].actor.close.remote()  # what does not come back is summed here
        g = summed_on(evaluate.roster.ready, epsilon, F, threads=1)
        assert g.tobytes() == epsilon.weighted_sum(F).tobytes()
        evaluate.roster.lose(evaluate.roster.ready[0], "the test has closed its foreman")


def test_traces_give_the_same_bits_too(cluster):
    plan, A = traced_plan(), trace_archive(3)
    with on_ray(cluster, plan) as evaluate:
        for candidates in (perturbed(plan, 20), unperturbed(plan)):
            assert_same(evaluate(candidates, A), serially(plan, candidates, A))
            A = A.append(trace_archive(1).traces[0])


def test_p9_when_no_node_is_left_the_error_says_why_they_were_left_out():
    nobody = roster.Roster.__new__(roster.Roster)
    nobody.welcomed, nobody.refused = True, {"id": left_out("blade", "worker after worker died.")}
    with pytest.raises(TooManyFailures, match=r"(?s)no node .* can play.*\nnode blade is left out"):
        nobody._despair()


def test_p11_nodes_with_other_numerics_or_noise_are_refused_by_name_unless_they_are_allowed(
    cluster, monkeypatch, caplog
):
    known = module.current_versions()
    monkeypatch.setattr(module, "current_versions", lambda: known | {"numpy": "1.0"})
    with on_ray(cluster, HEALTHY, seed=1) as evaluate, pytest.raises(UsageError) as info:
        evaluate(perturbed(HEALTHY), A)
    assert info.match(
        f"is refused.*numpy is {known['numpy']} there and 1.0 here; the noise table has different "
        "numbers there.*--allow-other-numerics"
    )
    with on_ray(cluster, HEALTHY, tolerant=True, workers=1) as evaluate:
        assert_same(evaluate(perturbed(HEALTHY), A), EXPECTED)
    assert "computes differently: numpy is" in caplog.text


def test_p11_a_node_with_other_code_to_talk_with_is_refused_even_if_other_numerics_are_allowed(
    cluster, monkeypatch
):
    code = roster.code_of(PROTOCOL)
    monkeypatch.setattr(roster, "code_of", lambda _: code | {"execution/pool.py": "other"})
    with on_ray(cluster, HEALTHY, tolerant=True) as evaluate, pytest.raises(UsageError) as info:
        evaluate(perturbed(HEALTHY), A)
    assert info.match("is refused, because its nses has other code, in execution/pool.py")


def test_another_token_is_refused_within_seconds_by_a_message_that_says_so(
    cluster, monkeypatch, tmp_path
):
    other = tmp_path / "token"
    other.write_text("0" * 32)
    with monkeypatch.context() as patch:
        patch.setenv("RAY_AUTH_TOKEN_PATH", str(other))
        with pytest.raises(UsageError, match="asks for a token, and ours is missing or another"):
            Connection(cluster.address, 1)
    with closing(Connection(cluster.address, 1)):  # the token of a cluster is not kept for the next
        assert len(nodes_of_the_cluster()) >= 2


def test_p12_runs_share_a_cluster_by_their_workers_and_one_without_a_cpu_is_told_so(
    cluster, monkeypatch, caplog
):
    def free() -> int:
        return sum(found.free for found in nodes_of_the_cluster())

    with on_ray(cluster, HEALTHY, workers=1) as one:
        assert_same(one(perturbed(HEALTHY), A), EXPECTED)
        wait_until(lambda: free() == 1)
        with on_ray(cluster, HEALTHY, workers=64) as two:
            assert "so of 64 workers no more than 1 play" in caplog.text
            assert_same(two(perturbed(HEALTHY), A), EXPECTED)
            assert_same(one(perturbed(HEALTHY), A), EXPECTED)
            wait_until(lambda: free() == 0)
            monkeypatch.setattr(roster, "NOBODY", 1.0)
            with on_ray(cluster, HEALTHY) as three, pytest.raises(UsageError, match="--workers"):
                three(perturbed(HEALTHY), A)
    assert "other programs hold all 2 CPUs" in caplog.text


def test_p10_a_driver_that_was_stopped_does_not_take_its_head_for_dead():
    alone = roster.Roster.__new__(roster.Roster)
    alone.watch = SimpleNamespace(answered=1.0)  # type: ignore[assignment]
    alone.heard, alone.quiet = 1.0, 0.0
    alone._listen(roster.AWAKE)  # all that counts of a stop, however long
    assert not alone.headless
    while not alone.headless:
        alone._listen(roster.AWAKE)
    assert alone.quiet > roster.HEADLESS
    alone.watch.answered = 2.0
    alone._listen(roster.AWAKE)
    assert not alone.headless


def test_p12_a_cluster_without_a_cpu_is_refused_at_once():
    nobody = roster.Roster.__new__(roster.Roster)
    nobody.watch = SimpleNamespace(found=())  # type: ignore[assignment]
    with pytest.raises(UsageError, match=r"no node .* has a CPU to play on; let one join"):
        nobody._check_resources()


def test_e3_a_task_that_no_node_can_set_up_is_broken(cluster):
    plan = plan_of(late_start(environments.refuse))
    with on_ray(cluster, plan) as evaluate, pytest.raises(TaskBroken, match="no licence"):
        evaluate(perturbed(plan), A)


def test_the_gradient_is_sent_around_only_where_that_pays():
    large, small = 167_000 * 5_000, 5_000 * 50
    assert pays(large, threads=1, cpus=64)
    assert not pays(small, threads=1, cpus=64)
    assert not pays(large, threads=4, cpus=8)
    assert not pays(large, threads=1, cpus=0)


# Looking ahead.

EVALUATION = 900  # the seed of an episode that takes until the gate opens
GREATER = A.append([0.1, 0.2])  # by the behavior that an evaluation finds


@dataclass(frozen=True)
class Scene:
    """Two nodes, one of which can be kept busy, and the seeds of the episodes that they play."""

    evaluate: OnRay
    notes: Path
    gate: Path

    @property
    def seeds(self) -> list[int]:
        return [int(seed) for seed in self.notes.read_text().split()]

    def look_ahead(self, guess: Candidates, until: Callable[[], bool]) -> None:
        """One node evaluates a member, and the other looks ahead, until something happens."""
        self.evaluate.foresee(1, lambda: guess)
        self.evaluate.should_stop = lambda: until() and self.gate.touch() is not None
        alone = replace(unperturbed(HEALTHY, 1), seeds=np.array([EVALUATION]))
        assert self.evaluate(alone, A).foreseen is None
        self.evaluate.should_stop = never


@pytest.fixture(scope="class")
def stage(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("ahead")
    notes, gate = folder / "notes", folder / "gate"
    plan = plan_of(faulty(partial(note, notes, gate, {EVALUATION}), range(CANDIDATES, 1000)))
    with on_ray(cluster, plan, look_ahead=True) as evaluate:
        yield Scene(evaluate, notes, gate)


class TestLookingAhead:
    @pytest.fixture
    def scene(self, stage: Scene, monkeypatch: pytest.MonkeyPatch) -> Scene:
        """Both nodes have played: the one that has nothing to do looks ahead at once."""
        monkeypatch.setattr(clock, "BRIEF", 0.0)
        stage.gate.unlink(missing_ok=True)
        while sum(node.busy > 0 for node in stage.evaluate.roster.ready) < 2:
            stage.evaluate(unperturbed(HEALTHY, 32), A)
        stage.notes.write_text("")
        return stage

    def test_a_node_plays_ahead_and_nobody_plays_that_again(self, scene):
        guess, evaluate = replace(perturbed(HEALTHY), seeds=np.arange(100, 132)), scene.evaluate
        shares = [range(100, 116), range(116, 132)]  # two nodes, with one worker each
        kept: list[range] = []

        def all_kept() -> bool:
            kept[:] = [share for share in shares if set(share) <= set(scene.seeds)]
            return bool(kept)

        scene.look_ahead(guess, until=all_kept)
        e, later = evaluate(guess, GREATER), scene.seeds
        assert_same(e, serially(HEALTHY, guess, GREATER))
        assert e.foreseen is True
        # Each node is first handed half of its share, and nobody takes that away.
        assert all(later.count(seed) == 1 for seed in kept[0][:8])
        wrong = replace(guess, theta=guess.theta + 1)
        evaluate.foresee(2, lambda: wrong)
        evaluate(unperturbed(HEALTHY), A)
        e = evaluate(guess, A)
        assert_same(e, serially(HEALTHY, guess, A))
        assert e.foreseen is False
        assert e.idle is not None

    def test_p1_a_foreman_killed_while_its_node_looks_ahead_changes_nothing(self, scene):
        guess = replace(perturbed(HEALTHY), seeds=np.arange(200, 232))
        roster, lost = scene.evaluate.roster, scene.evaluate.roster.lost

        def kill() -> bool:
            """The foreman of the node that has nothing else to do."""
            if any(199 < x < EVALUATION for x in scene.seeds) and roster.lost == lost:
                for node in roster.idle:
                    roster.lose(node, "the test ends its foreman")
            return roster.lost > lost

        scene.look_ahead(guess, until=kill)
        e = scene.evaluate(guess, GREATER)
        assert_same(e, serially(HEALTHY, guess, GREATER))
        assert e.foreseen is True
