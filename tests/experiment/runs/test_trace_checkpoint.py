"""Checkpoints of runs whose behaviors are traces: exact, and as safe as the others."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bounded import allocating_less_than
from checkpoints import CONFIG, a_state, remembered
from forged import forge, forge_state, tensor, tensor_file
from nses.core.archive import archive_of
from nses.core.seeding import Purpose, generator
from nses.core.values import State
from nses.experiment.runs.checkpoint import (
    MANIFEST,
    SCALARS,
    TENSORS,
    TRACES,
    digest,
    load,
    load_archive,
    load_best,
    save,
    save_archive,
    save_best,
)
from nses.experiment.runs.storage import CheckpointRefused

LENGTHS = (5, 1, 300)


def a_traced_state(generation: int, lengths: tuple[int, ...] = LENGTHS) -> State:
    rng = generator(0, generation, 1, Purpose.EPISODE)
    traces = [rng.integers(0, 256, (T, 4), np.uint8) for T in lengths]
    return remembered(a_state(generation), archive_of(traces))


def assert_same(a: State, b: State) -> None:
    assert digest(a, []) == digest(b, [])
    pairs = list(zip(a.archive.traces, b.archive.traces, strict=True))
    pairs += [(x.behavior, y.behavior) for x, y in zip(a.members, b.members, strict=True)]
    for x, y in [*pairs, (a.best.behavior, b.best.behavior)]:
        assert x.dtype == y.dtype == np.uint8
        np.testing.assert_array_equal(x, y)


@pytest.fixture
def two(tmp_path: Path) -> Path:
    save(tmp_path, a_traced_state(1), CONFIG)
    save(tmp_path, a_traced_state(2), CONFIG)
    return tmp_path


def assert_falls_back(directory: Path, reason: str = "") -> None:
    loaded = load(directory)
    assert_same(loaded.state, a_traced_state(1))
    told = " ".join(loaded.notes)
    assert "Checkpoint 000002 was refused: " in told
    assert reason in told


@settings(deadline=None, max_examples=30)
@given(width=st.integers(1, 9), lengths=st.lists(st.integers(1, 30), min_size=1), data=st.data())
def test_e15_any_traces_come_back_byte_for_byte(
    tmp_path_factory: Any, width: int, lengths: list[int], data: st.DataObject
) -> None:
    traces = [data.draw(arrays(np.uint8, (T, width))) for T in lengths]
    state = remembered(a_state(1), archive_of(traces))
    directory = tmp_path_factory.mktemp("run") / "checkpoints"
    save(directory, state, CONFIG)
    assert_same(load(directory).state, state)
    save_archive(directory / "archive", state.archive)
    for x, y in zip(load_archive(directory / "archive").traces, traces, strict=True):
        np.testing.assert_array_equal(x, y)


def test_traces_are_stored_as_bytes_each_in_a_file_of_its_own(two: Path) -> None:
    tensors = safetensors.numpy.load((two / "000002" / TENSORS).read_bytes())
    assert not any(name.endswith("behavior") or "archive" in name for name in tensors)
    entries = json.loads((two / "000002" / MANIFEST).read_bytes())["traces"]
    behaviors = ["best.behavior", "members.0.behavior", "members.1.behavior"]
    assert sorted(entries) == [*(f"archive.{i}" for i in range(3)), *behaviors]
    for i, trace in enumerate(a_traced_state(2).archive.traces):
        data = (two / TRACES / f"{entries[f'archive.{i}']['sha256']}.safetensors").read_bytes()
        assert list(safetensors.numpy.load(data)) == ["trace"]
        np.testing.assert_array_equal(safetensors.numpy.load(data)["trace"], trace)
    scalars = json.loads((two / "000002" / SCALARS).read_bytes())
    assert scalars["archive"] == [[T, 4] for T in LENGTHS]
    assert scalars["best"]["behavior"] == [5, 4]


def test_an_archive_of_traces_that_was_loaded_can_grow(two: Path) -> None:
    archive = load(two).state.archive
    grown = archive.append(np.zeros((7, 4), np.uint8))
    assert len(grown) == 4
    assert grown.extends(archive)
    assert_same(load(two).state, a_traced_state(2))


def test_the_best_policy_keeps_its_trace(tmp_path: Path) -> None:
    best = a_traced_state(1).best
    save_best(tmp_path / "best", best, {"retest": "[1.0]"})
    loaded, extra = load_best(tmp_path / "best")
    np.testing.assert_array_equal(loaded.behavior, best.behavior)
    assert extra == {"retest": "[1.0]"}


def test_the_digest_covers_every_byte_and_the_length_of_traces() -> None:
    state = a_traced_state(1)
    traces = [trace.copy() for trace in state.archive.traces]
    traces[2][299, 3] ^= 1
    longer = [*traces[:2], np.concatenate([state.archive.traces[2]] * 2)]
    joined = [np.concatenate(state.archive.traces[:2]), state.archive.traces[2]]
    others = [remembered(a_state(1), archive_of(x)) for x in (traces, longer, joined)]
    others.append(replace(state, archive=state.archive.append(traces[0])))
    assert len({digest(x, []) for x in (state, *others)}) == 5


HOSTILE_TENSORS = {
    "10^12 bytes": tensor_file({"archive.0": tensor([10**12, 128], 0, 128 * 10**12, "U8")}),
    "10^12 bytes in 8": tensor_file({"archive.0": tensor([10**12, 128], 0, 8, "U8")}, bytes(8)),
    "a product that overflows": tensor_file({"archive.0": tensor([2**31, 2**33], 0, 0, "U8")}),
    "three dimensions": tensor_file({"archive.0": tensor([2, 2, 2], 0, 8, "U8")}, bytes(8)),
    "signed bytes": tensor_file({"archive.0": tensor([2, 4], 0, 8, "I8")}, bytes(8)),
}


@pytest.mark.parametrize("data", HOSTILE_TENSORS.values(), ids=HOSTILE_TENSORS.keys())
def test_s10_hostile_traces_are_refused_before_anything_is_allocated(
    two: Path, data: bytes
) -> None:
    forge(two / "000002", tensors=data)
    (two / "archive").write_bytes(data)
    with allocating_less_than(16 << 20):
        assert_falls_back(two)
        with pytest.raises(CheckpointRefused, match="archive was refused"):
            load_archive(two / "archive")


HOSTILE_SHAPES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "10^5 traces": lambda x: {"archive": x["archive"] * 10**5},
    "one too few": lambda x: {"archive": x["archive"][:2]},
    "one too many": lambda x: {"archive": [*x["archive"], [1, 4]]},
    "a longer one": lambda x: {"archive": [[6, 4], *x["archive"][1:]]},
    "a huge one": lambda x: {"archive": [[10**12, 4], *x["archive"][1:]]},
    "a shape of text": lambda x: {"archive": [["5", 4], *x["archive"][1:]]},
    "a shape of nothing": lambda x: {"archive": [[], *x["archive"][1:]]},
    "a number between": lambda x: {"archive": [5, *x["archive"]]},
    "a vector": lambda x: {"best": x["best"] | {"behavior": [20]}},
    "three dimensions": lambda x: {"best": x["best"] | {"behavior": [5, 2, 2]}},
    "text": lambda x: {"best": x["best"] | {"behavior": "trace"}},
}


@pytest.mark.parametrize("change", HOSTILE_SHAPES.values(), ids=HOSTILE_SHAPES.keys())
def test_s10_shapes_that_are_not_those_of_the_traces_are_refused(
    two: Path, change: Callable[[dict[str, Any]], Any]
) -> None:
    path = two / "000002"
    scalars = json.loads((path / SCALARS).read_bytes())
    forge(path, scalars=json.dumps(scalars | change(scalars)).encode())
    assert_falls_back(two)


def forged(two: Path, **changes: Any) -> None:
    """Another state under the number 2, as an attacker can write it."""
    forge_state(two / "000002", replace(a_traced_state(2), **changes))


def test_s10_traces_that_compiled_code_could_not_take_are_refused(two: Path) -> None:
    """It does not look where a state ends."""
    state = a_traced_state(2)
    for shape in ((2, 5), (0, 4), (3, 0)):
        bad: Any = np.zeros(shape, np.uint8)
        archive = archive_of(state.archive.traces)
        archive.buffer.data[1] = bad  # type: ignore[index]
        forged(two, archive=archive)
        assert_falls_back(two)
        forged(two, best=replace(state.best, behavior=bad))
        assert_falls_back(two)
    forged(two, best=replace(state.best, behavior=np.zeros(4)))
    assert_falls_back(two, "the shapes of its behaviors do not match")
