"""Bookkeeping of candidates among nodes, without any."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nses.execution.ledger import UNIT
from nses.execution.shares import Shares, blocks_of, units_among

NODES = ("a", "b", "c")


class Pretence:
    """Nodes that take, answer, copy and vanish, in any order; and whose results counted."""

    def __init__(self, n: int):
        kept = {"b": np.arange(0, n // 3), "c": np.arange(n // 3, n // 2)}
        self.shares, self.results = Shares(n, kept), np.zeros(n, int)
        self.has: dict[str, set[int]] = {node: set() for node in NODES}

    def go_on(self, data: st.DataObject) -> None:
        node = data.draw(st.sampled_from(NODES))
        event = data.draw(st.sampled_from(("take", "copies", "answer", "vanish", "forget")))
        if event == "vanish":
            self.has[node] = set()
            self.shares.keep([other for other in NODES if other != node])
        elif event == "forget":
            self.has[node] -= set(self.shares.settled_elsewhere(node).tolist())
        elif event == "answer":
            self.answer(node, data.draw(st.integers(0, 5)))
        else:
            most = data.draw(st.integers(1, 9))
            given = getattr(self.shares, event)(node, most).tolist()
            assert len(given) <= most
            assert self.has[node].isdisjoint(given)
            self.has[node].update(given)

    def answer(self, node: str, most: int) -> None:
        done = sorted(self.has[node])[:most]
        self.has[node].difference_update(done)
        indices = np.array(done, np.int64)
        self.results[indices[self.shares.accept(node, indices)]] += 1


@given(st.integers(1, 60), st.data())
def test_whoever_takes_copies_and_vanishes_each_candidate_has_one_result(n, data):
    pretence = Pretence(n)
    for _ in range(data.draw(st.integers(0, 60))):
        pretence.go_on(data)
    while pretence.shares.open.any():
        given = pretence.shares.take("a", 7)
        pretence.has["a"].update(given.tolist())
        if not len(given):  # the others have the rest, and never answer
            pretence.has["a"].update(pretence.shares.copies("a", 7).tolist())
        pretence.answer("a", n)
    assert (pretence.results == 1).all()
    assert pretence.shares.free == 0


def test_copies_are_first_of_what_fewest_hold_and_of_that_the_last():
    shares = Shares(8)
    assert shares.take("a", 8).tolist() == list(range(8))
    assert shares.copies("b", 3).tolist() == [5, 6, 7]
    assert shares.copies("c", 2).tolist() == [3, 4]
    assert shares.copies("c", 4).tolist() == [0, 1, 2, 7]
    assert shares.copies("a", 9).tolist() == []  # it has them all


def test_what_a_vanished_node_held_is_free_unless_another_holds_it_too():
    shares = Shares(6)
    shares.take("a", 6)
    shares.copies("b", 2)
    shares.keep(["b"])
    assert shares.free == 4
    assert shares.take("b", 9).tolist() == [0, 1, 2, 3]


def test_a_node_is_told_once_what_others_have_settled():
    shares = Shares(4)
    shares.take("a", 4)
    shares.copies("b", 2)
    assert shares.accept("b", np.array([2, 3])).all()
    assert shares.settled_elsewhere("a").tolist() == [2, 3]
    assert shares.settled_elsewhere("a").tolist() == []
    assert shares.count("a") == 2
    assert not shares.accept("a", np.array([3])).any()


@given(st.sets(st.integers(0, 300)), st.integers(1, 8))
def test_units_are_the_candidates_in_order_large_ones_first(chosen, workers):
    indices = np.array(sorted(chosen), np.int64)
    units = list(units_among(indices, workers))
    assert [i for unit in units for i in unit] == indices.tolist()
    assert all(1 <= len(unit) <= UNIT for unit in units)
    if units:
        assert len(units[-1]) == 1 or len(indices) >= 4 * workers


def test_nodes_first_take_what_they_have_kept_and_last_what_others_have():
    shares = Shares(10, {"a": np.arange(2, 5), "b": np.arange(5, 8)})
    assert shares.take("a", 2).tolist() == [2, 3]
    assert shares.take("b", 2).tolist() == [5, 6]
    assert shares.take("a", 3).tolist() == [0, 1, 4]
    assert shares.take("c", 3).tolist() == [7, 8, 9]
    shares = Shares(4, {"b": np.arange(4)})
    assert shares.take("a", 2).tolist() == [2, 3]  # b begins with the first ones


@given(st.integers(1, 10_000), st.lists(st.integers(1, 64), min_size=1, max_size=9))
def test_blocks_are_everything_in_order_by_the_number_of_workers(n, workers):
    blocks = blocks_of(n, workers, 4)
    assert [i for block in blocks for i in block] == list(range(n))
    assert all(block.start % 4 == 0 for block in blocks if block)
    for block, part in zip(blocks, workers, strict=True):
        assert abs(len(block) - n * part / sum(workers)) <= 4 + 4
