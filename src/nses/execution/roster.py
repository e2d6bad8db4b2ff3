"""The nodes of a cluster, which come and go, and the foremen on them."""

import logging
import time
from collections.abc import Callable
from typing import Any

from nses.errors import NsesError, TooManyFailures, UsageError
from nses.execution import door
from nses.execution.foreman import Answer, Contract, Foreman, Introduction
from nses.execution.ledger import AWAKE
from nses.execution.node import SILENT, Node
from nses.execution.sharing import Sharers, alone, claim, share_of
from nses.execution.versions import PROTOCOL, code_of
from nses.execution.watch import LOOK, Found, Watch, reason_of

log = logging.getLogger("nses")

HEADLESS = 6.0  # seconds without an answer after which the cluster's head counts as gone
NOBODY = 30.0  # seconds without a node that can play, after which we give up
TICK = 0.2
MOST = 1 << 30  # workers, where there is no limit


class Roster:
    """The nodes that can play. Those with other numerics are refused; lost ones may come back."""

    def __init__(
        self,
        contract: Contract,
        workers: int | None,
        numerics: Callable[[], door.Numerics],
        tolerant: bool = False,
        sharers: Sharers = alone,
    ):
        import ray

        self.contract, self.workers, self.sharers = contract, workers, sharers
        self.numerics, self.tolerant = numerics, tolerant  # of this machine, asked when needed
        self.reference = ray.put(contract)
        self.watch = Watch()
        self.heard, self.quiet = self.watch.answered, 0.0
        self.nodes: dict[str, Node] = {}
        self.refused: dict[str, Exception] = {}
        self.losses: dict[str, int] = {}
        self.back: dict[str, float] = {}  # when a lost node may be tried again
        self.welcomed = False  # whether any node was ever let in
        self.lost, self.alone, self.looked = 0, 0.0, time.monotonic()
        self._check_resources()

    def _check_resources(self) -> None:
        cpus = sum(found.cpus for found in self.watch.found)
        free = sum(self._free(found) for found in self.watch.found)
        if not cpus:
            raise UsageError(
                "no node of the Ray cluster has a CPU to play on; let one join with 'ray start "
                "--address=HOST:PORT' and without --num-cpus=0."
            )
        if not free:
            log.warning(
                "other programs hold all %d CPUs of the Ray cluster; waiting %g s for one.",
                cpus, NOBODY,
            )  # fmt: skip
        elif (self.workers or 1) > free:
            log.warning(
                "%d of the %d CPUs of the Ray cluster are free, so of %d workers no more than %d "
                "play until others come free or join.",
                free, cpus, self.workers, free,
            )  # fmt: skip

    @property
    def room(self) -> int:
        """How many workers may still be started, on all nodes together."""
        return (self.workers or MOST) - sum(node.most for node in self.nodes.values())

    def _free(self, found: Found) -> int:
        """CPUs that nobody holds, or only runs that share them with us."""
        return found.free if self.sharers is alone else found.cpus

    @property
    def headless(self) -> bool:
        """Whether the cluster's head has stopped answering."""
        return self.quiet > HEADLESS + LOOK

    def _listen(self, passed: float) -> None:
        """Counts the seconds since the head last answered in which we were there to hear it."""
        if self.watch.answered != self.heard:
            self.heard, self.quiet = self.watch.answered, 0.0
        else:
            self.quiet += passed

    @property
    def ready(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.ready]

    @property
    def idle(self) -> list[Node]:
        return [node for node in self.ready if node.call is None]

    @property
    def playing(self) -> int:
        """How many workers there are."""
        return sum(node.workers for node in self.ready)

    # Coming and going.

    def refresh(self) -> None:
        """Looks which nodes are there; TooManyFailures if there is no hope left."""
        now = time.monotonic()
        passed, self.looked = min(now - self.looked, AWAKE), now
        self._listen(passed)
        if self.headless:
            raise TooManyFailures(
                f"the head of the Ray cluster has not answered for {HEADLESS:g} s. All finished "
                "generations are kept; start a cluster again, or continue with --backend processes"
            )
        there = {found.id: found for found in self.watch.found}
        for node in list(self.nodes.values()):
            node.silent += passed if node.call is not None else 0.0
            if node.found.id not in there:
                self.lose(node, "it left the cluster")
            elif node.silent > node.patience(self.contract.deadline):
                self.lose(node, self._silence(node))
        for found in there.values():
            known = self.nodes.keys() | self.refused.keys()
            due = found.id not in known and now >= self.back.get(found.id, 0.0)
            if due and min(self._free(found), self.room) > 0:
                self.nodes[found.id] = self._recruit(found)
        for node in self.ready:
            self._let_grow(node)
        if self.refused and not self.nodes and not self.welcomed:
            raise next(iter(self.refused.values()))
        hope = any(
            node.ready or node.asked != "here" or node.found.id not in self.losses
            for node in self.nodes.values()
        )
        self.alone = 0.0 if hope else self.alone + passed
        if self.alone > NOBODY:
            self._despair()

    def _recruit(self, found: Found) -> Node:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        most, runs = min(self._free(found), self.room), self.sharers()
        workers = share_of(most, runs)
        place = NodeAffinitySchedulingStrategy(found.id, soft=False)
        actor: Any = ray.remote(Foreman)
        options = {"num_cpus": claim(most, runs), "scheduling_strategy": place, "max_restarts": 0}
        return Node(found, most, workers, actor.options(**options).remote(workers, most))

    def _let_grow(self, node: Node) -> None:
        workers = share_of(node.most, self.sharers())
        if workers > node.workers:
            node.workers = workers
            node.actor.grow.remote(workers)

    def lose(self, node: Node, why: str) -> None:
        """Others get what it held. It may be tried again, after a longer wait each time."""
        log.warning("node %s is lost: %s.", node.found.name, why)
        self._dismiss(node)
        self.lost += 1
        losses = self.losses[node.found.id] = self.losses.get(node.found.id, 0) + 1
        self.back[node.found.id] = time.monotonic() + min(60.0, 2.0**losses)

    def _dismiss(self, node: Node) -> None:
        import ray

        self.nodes.pop(node.found.id, None)
        try:
            ray.kill(node.actor)
        except Exception:  # it is already gone
            log.debug("foreman on %s could not be ended", node.found.name, exc_info=True)

    def leave_out(self, node: Node, why: str) -> None:
        """Others get what it held. It is not tried again, unless it joins as a new node."""
        self.lost += 1
        self._refuse(node, door.left_out(node.found.name, why))

    def _silence(self, node: Node) -> str:
        import ray

        if node.asked != "here":
            return f"its foreman has not answered for {node.silent:.0f} s"
        free = ray.available_resources().get("CPU", 0)
        return (
            f"its foreman did not start within {node.silent:.0f} s; it needs "
            f"{node.workers} CPUs, and the cluster has {free:g} free"
        )

    def _despair(self) -> None:
        if self.welcomed:
            raise TooManyFailures(
                f"no node of the Ray cluster can play, and none has joined for {NOBODY:g} s"
                + "".join(f"\n{refused}" for refused in self.refused.values())
            )
        raise UsageError(
            f"no node of the Ray cluster was ready to play within {NOBODY:g} s; see the "
            "warnings. Runs that share a cluster take fewer CPUs each with --workers."
        )

    # The door.

    def answers(self, seconds: float) -> list[tuple[Node, Answer]]:
        """What comes in meanwhile; nodes that introduce themselves are let in or refused."""
        import ray

        calls = {node.call: node for node in self.nodes.values() if node.call is not None}
        if not calls:
            time.sleep(seconds)
            return []
        ready, _ = ray.wait(list(calls), num_returns=1, timeout=seconds)
        if ready and len(calls) > 1:
            ready, _ = ray.wait(list(calls), num_returns=len(calls), timeout=0)
        found = []
        for call in ready:
            node = calls[call]
            answer = self._answer(node)
            if isinstance(answer, Answer):
                found.append((node, answer))
            elif isinstance(answer, Introduction):
                self._let_in(node, answer)
            elif node.asked == "here" and answer is not None:
                self._greet(node, answer)
        return found

    def _answer(self, node: Node) -> Any:
        """What the node answers; None if it is lost."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        call, node.call = node.call, None
        try:
            return ray.get(call, timeout=SILENT)
        except RayTaskError as error:
            raise RuntimeError(f"the foreman on {node.found.name} failed:\n{error}") from None
        except RayError as error:
            self.lose(node, reason_of(error))
        return None

    def _greet(self, node: Node, code: object) -> None:
        """Machines that run other code might not even understand what they are asked."""
        if found := door.changed_files(code_of(PROTOCOL), code):
            self._refuse(node, door.other_code(node.found.name, found))
        else:
            node.ask("introduce", self.reference)

    def _let_in(self, node: Node, introduction: Introduction) -> None:
        name = node.found.name
        if introduction.trouble:
            self._refuse(node, door.cannot_play(name, introduction.trouble))
            return
        found = door.differences(self.numerics(), introduction.numerics)
        if found and not self.tolerant:
            self._refuse(node, door.other_bits(name, found))
            return
        if found:
            log.warning("node %s computes differently: %s.", name, "; ".join(found))
        node.ready = self.welcomed = True
        node.exact = not found

    def _refuse(self, node: Node, error: NsesError) -> None:
        self._dismiss(node)
        self.refused[node.found.id] = error
        if self.nodes or self.welcomed:
            log.warning("%s", error)

    def close(self) -> None:
        """Ends the foremen, giving their environments a moment to close."""
        import ray

        self.watch.stop()
        ends = [node.actor.close.remote() for node in self.nodes.values() if node.ready]
        if ends:
            ray.wait(ends, num_returns=len(ends), timeout=4.0)
        if self.headless:  # the foremen themselves, without their workers, end with their raylets
            return
        for node in list(self.nodes.values()):
            self._dismiss(node)
