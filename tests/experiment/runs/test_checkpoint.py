"""Checkpoints: what is saved comes back bit for bit, and the right ones are kept."""

import json
import math
import os
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import nses
from checkpoints import CONFIG, a_state, flipped, same, tree, uncommitted
from nses.core.archive import archive_of, empty
from nses.core.moments import Moments
from nses.core.optimizers import OptimizerState
from nses.core.values import Best, Member, State
from nses.core.weight import Weight
from nses.experiment.runs import checkpoint, formats, storage
from nses.experiment.runs.checkpoint import (
    MANIFEST,
    POINTER,
    SCALARS,
    TENSORS,
    digest,
    load,
    load_archive,
    load_best,
    save,
    save_archive,
    save_best,
)
from nses.experiment.runs.formats import Content
from nses.experiment.runs.storage import CheckpointRefused, StorageFailed

# Values that a run need not produce, and that must survive all the same.
REALS = st.floats() | st.sampled_from([0.0, -0.0, 5e-324, float("inf"), float("-inf")])


COUNTS = st.integers(0, 2**53)


def vectors(dtype: type, length: int) -> st.SearchStrategy[Any]:
    width = 32 if dtype is np.float32 else 64
    return arrays(dtype, length, elements=st.floats(width=width, allow_subnormal=True))


@st.composite
def states(draw: st.DrawFn) -> State:
    d, o, b, M = (draw(st.integers(low, 4)) for low in (0, 0, 0, 1))
    moments = st.builds(Moments, REALS, vectors(np.float64, o), vectors(np.float64, o))
    theta, behavior = vectors(np.float32, d), vectors(np.float64, b)
    member = st.builds(
        Member, theta, st.builds(OptimizerState, COUNTS, theta, theta), moments, behavior
    )
    weight = st.builds(Weight, REALS, REALS, COUNTS)
    rows = draw(arrays(np.float64, (draw(st.integers(0, 5)), max(b, 1)), elements=REALS))
    return State(
        generation=draw(st.integers(0, 10**7)),
        members=tuple(draw(st.lists(member, min_size=M, max_size=M))),
        archive=archive_of(rows) if len(rows) else empty(b),
        weights=tuple(
            draw(
                st.lists(weight, min_size=1, max_size=1) | st.lists(weight, min_size=M, max_size=M)
            )
        ),
        best=draw(st.builds(Best, theta, moments, behavior, REALS, COUNTS, COUNTS)),
        episodes=draw(COUNTS),
        env_steps=draw(COUNTS),
        updated=draw(st.none() | st.integers(0, M - 1)),
    )


@settings(deadline=None, max_examples=40)
@given(states())
def test_any_state_comes_back_bit_for_bit(tmp_path_factory: Any, state: State) -> None:
    directory = tmp_path_factory.mktemp("run") / "checkpoints"
    path = save(directory, state, CONFIG)
    loaded = load(directory)
    assert path == loaded.path == directory / f"{state.generation:06d}"
    assert same(loaded.state, state)
    assert loaded.config == CONFIG
    assert loaded.notes == ()
    assert digest(loaded.state, []) == digest(state, [])


def test_training_continues_from_a_loaded_state(two: Path) -> None:
    state = load(two).state
    grown = state.archive.append(np.ones(2))
    assert len(grown) == len(state.archive) + 1
    assert same(load(two).state.archive, state.archive)
    assert all(array.flags.writeable for array in (state.members[0].theta, state.best.theta))


def test_numbers_of_other_types_are_stored_as_their_annotations_say(tmp_path: Path) -> None:
    odd = replace(a_state(1), weights=(Weight(w=1, f_best=np.float64(2)),), episodes=np.int64(3))  # type: ignore[arg-type]
    plain = replace(a_state(1), weights=(Weight(w=1.0, f_best=2.0),), episodes=3)
    save(tmp_path, odd, {})
    assert same(load(tmp_path).state, plain)
    assert digest(odd, []) == digest(plain, [])


@pytest.mark.slow
def test_ten_thousand_members_fit_into_a_checkpoint(tmp_path: Path) -> None:
    state = a_state(1)
    crowd = replace(state, members=state.members * 5000)
    save(tmp_path, crowd, CONFIG)
    assert same(load(tmp_path).state, crowd)


def test_json_on_disk_is_standard_though_the_first_best_is_minus_infinity(tmp_path: Path) -> None:
    def refuse(constant: str) -> NoReturn:
        raise AssertionError(constant)

    state = replace(a_state(0), weights=(Weight(),))
    path = save(tmp_path, state, CONFIG)
    for name in (MANIFEST, SCALARS):
        json.loads((path / name).read_bytes(), parse_constant=refuse)
    assert load(tmp_path).state.weights == (Weight(),)


def test_the_layout_of_format_2_is_fixed(two: Path) -> None:
    """A change here is a change of format: raise FORMAT, and add to MIGRATIONS."""
    assert formats.FORMAT == 2
    assert set(os.listdir(two)) == {"000001", "000002", POINTER}
    assert json.loads((two / POINTER).read_bytes()) == {"checkpoint": "000002"}
    tensors = safetensors.numpy.load((two / "000002" / TENSORS).read_bytes())
    policy = ["behavior", "moments.square", "moments.sum", "theta"]
    learner = sorted([*policy, "optimizer.m", "optimizer.v"])
    members = [f"members.{i}.{x}" for i in (0, 1) for x in learner]
    assert sorted(tensors) == ["archive", *(f"best.{x}" for x in policy), *members]
    moments = {"count": a_state(2).best.moments.count, "sum": [3], "square": [3]}
    assert json.loads((two / "000002" / SCALARS).read_bytes())["best"] == {
        "theta": [7],
        "moments": moments,
        "behavior": [2],
        "score": 1.5,
        "generation": 2,
        "member": 1,
    }
    manifest = json.loads((two / "000002" / MANIFEST).read_bytes())
    assert list(manifest) == ["sha256", "format", "nses", "needs", "config", "files", "traces"]


def test_an_empty_or_missing_directory_holds_no_checkpoint(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "missing"):
        with pytest.raises(CheckpointRefused, match=r"holds no valid checkpoint.*--run-dir"):
            load(directory)


def test_s7_a_newer_format_is_refused_with_what_it_needs(
    two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as future:
        future.setattr(formats, "FORMAT", 3)
        future.setattr(formats, "NEEDS", "7.1.0")
        future.setattr(formats, "MIGRATIONS", {2: lambda content: content})
        future.setattr(nses, "__version__", "7.3.0")
        save(two, a_state(3), CONFIG)
        save_best(two / "best.safetensors", a_state(3).best, {})
    for read, path in ((load, two), (load_best, two / "best.safetensors")):
        with pytest.raises(
            CheckpointRefused, match=r"written by nses 7\.3\.0.*needs nses ≥ 7\.1\.0"
        ):
            read(path)


def test_s7_an_older_format_is_migrated_in_memory(
    two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def two_to_three(content: Content) -> Content:
        return replace(content, scalars=content.scalars | {"env_steps": 12345})

    def three_to_four(content: Content) -> Content:
        return replace(content, config={"was": content.config})

    before = tree(two)
    monkeypatch.setattr(formats, "FORMAT", 4)
    monkeypatch.setattr(formats, "MIGRATIONS", {2: two_to_three, 3: three_to_four})
    loaded = load(two)
    assert same(loaded.state, replace(a_state(2), env_steps=12345))
    assert loaded.config == {"was": CONFIG}
    assert tree(two) == before


def test_s7_a_format_too_old_to_migrate_is_refused(
    two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "FORMAT", 3)
    with pytest.raises(CheckpointRefused, match="can no longer read format 2"):
        load(two)


def test_s15_the_newest_is_the_one_with_the_highest_generation_whatever_the_clock_says(
    tmp_path: Path,
) -> None:
    for generation in (9, 10, 999_999, 1_000_000):
        save(tmp_path, a_state(generation), CONFIG, keep_last=9)
    paths = list(tmp_path.rglob("*"))
    for seed in range(5):
        for path in paths:
            moment = random.Random(f"{seed}{path.name}{path.parent.name}").randrange(2**31)
            os.utime(path, (moment, moment))
        assert load(tmp_path).state.generation == 1_000_000
    save(tmp_path, a_state(1_000_001), CONFIG, keep_last=2)
    assert [g for g, _ in checkpoint.stored(tmp_path)] == [1_000_001, 1_000_000]


def test_s16_the_last_three_and_every_tenth_are_kept(tmp_path: Path) -> None:
    for generation in range(35):
        save(tmp_path, a_state(generation), CONFIG, keep_every=10)
    assert [g for g, _ in checkpoint.stored(tmp_path)] == [34, 33, 32, 30, 20, 10, 0]
    assert uncommitted(tmp_path) == []


def test_s16_nothing_older_goes_when_the_new_one_does_not_come_back_as_written(
    two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(two)

    def failing_disk(path: Path, data: bytes) -> None:
        storage.write_synced(path, flipped(data, len(data) // 2, 3))

    monkeypatch.setattr(checkpoint, "write_synced", failing_disk)
    for generation in (2, 3):
        with pytest.raises(StorageFailed, match="does not read back as it was written"):
            save(two, a_state(generation, seed=1), CONFIG, keep_last=1)
        assert tree(two) == before
        assert uncommitted(two) == []


def test_s16_checkpoints_newer_than_the_one_saved_are_kept(two: Path) -> None:
    for generation in range(10, 15):
        save(two, a_state(generation), CONFIG, keep_last=9)
    save(two, a_state(3), CONFIG, keep_last=1)
    assert [g for g, _ in checkpoint.stored(two)] == [14, 13, 12, 11, 10, 3]


def test_saving_a_generation_again_replaces_it(two: Path) -> None:
    save(two, a_state(2, seed=1), {"other": 1})
    loaded = load(two)
    assert same(loaded.state, a_state(2, seed=1))
    assert loaded.config == {"other": 1}
    assert uncommitted(two) == []


def test_saving_over_a_damaged_generation_heals_it(two: Path) -> None:
    (two / "000002" / TENSORS).write_bytes(b"torn")
    save(two, a_state(2), CONFIG)
    assert same(load(two).state, a_state(2))
    assert load(two).notes == ()


def test_what_a_crash_left_is_removed_by_the_next_save(two: Path) -> None:
    for phase in ("writing", "replaced"):
        shutil.copytree(two / "000001", two / f".{phase}-000003-0123abcd")
        (two / f".{phase}-000003-0123abcd" / TENSORS).write_bytes(b"torn")
    save(two, a_state(3), CONFIG)
    assert uncommitted(two) == []


OLD, NEW = a_state(4, d=50), a_state(5, d=50)


def test_the_best_policy_comes_back_with_its_texts(tmp_path: Path) -> None:
    path, extra = tmp_path / "best.safetensors", {"retest": "[1.0]", "äö": "\n\0", "0" * 64: ""}
    for best in (OLD.best, replace(OLD.best, score=-math.inf)):
        save_best(path, best, extra)
        loaded, texts = load_best(path)
        assert same(loaded, best)
        assert texts == extra
    assert os.listdir(tmp_path) == ["best.safetensors"]


def test_an_archive_comes_back_bit_for_bit(tmp_path: Path) -> None:
    for archive in (OLD.archive, empty(3), archive_of([[float("nan"), -0.0]])):
        save_archive(tmp_path / "archive", archive)
        assert same(load_archive(tmp_path / "archive"), archive)


def test_equal_values_are_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(tmp_path / name, NEW, CONFIG)
        save_best(tmp_path / name / "best", NEW.best, {"x": "1", "y": "2", "z": "3"})
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_a_best_policy_is_refused_as_an_archive_and_so_is_a_missing_file(tmp_path: Path) -> None:
    save_best(tmp_path / "best", OLD.best, {})
    with pytest.raises(CheckpointRefused, match="does not hold the archive"):
        load_archive(tmp_path / "best")
    with pytest.raises(CheckpointRefused, match=r"missing was refused.*No such file"):
        load_best(tmp_path / "missing")


METRICS = [
    {"generation": 1, "return_mean": 0.1, "seconds": 3.0, "steps_per_second": 9, "restarts": 0}
]


def test_the_digest_ignores_the_clock_and_the_order_of_names() -> None:
    slower = [{"restarts": 2, "steps_per_second": 1, "seconds": 9.0}]
    slower[0] |= {"return_mean": 0.1, "generation": 1}
    assert digest(OLD, METRICS) == digest(OLD, slower)
    assert digest(OLD, METRICS) != digest(OLD, [])
    assert digest(OLD, METRICS) != digest(OLD, [METRICS[0] | {"return_mean": 0.2}])
    assert digest(OLD, METRICS) != digest(OLD, [*METRICS, *METRICS])


def test_the_digest_sees_every_bit_of_a_state() -> None:
    member = OLD.members[1]
    tail = (OLD.members[0],)

    def nudged(array: Any) -> Any:
        return np.nextafter(array, np.ones_like(array) * 9)

    others = [
        replace(OLD, members=(*tail, replace(member, theta=nudged(member.theta)))),
        replace(OLD, members=(*tail, replace(member, optimizer=OptimizerState(
            member.optimizer.t, nudged(member.optimizer.m), member.optimizer.v)))),
        replace(OLD, members=(*tail, replace(member, optimizer=replace(member.optimizer, t=1)))),
        replace(OLD, members=(*tail, replace(member, moments=replace(
            member.moments, count=np.nextafter(member.moments.count, 9))))),
        replace(OLD, archive=archive_of(nudged(OLD.archive.rows))),
        replace(OLD, archive=OLD.archive.append(np.zeros(2))),
        replace(OLD, weights=(Weight(0.5, t_best=1),)),
        replace(OLD, best=replace(OLD.best, score=1.25)),
        replace(OLD, best=replace(OLD.best, theta=nudged(OLD.best.theta))),
        replace(OLD, members=OLD.members[::-1]),
        replace(OLD, generation=5),
    ]  # fmt: skip
    digests = {digest(state, METRICS) for state in [OLD, *others]}
    assert len(digests) == len(others) + 1


def test_the_digest_of_a_known_state_is_known() -> None:
    """Golden: change it only with a line in the CHANGELOG."""
    moments = Moments(0.01, np.zeros(1), np.full(1, 0.01))
    optimizer = OptimizerState(1, np.zeros(1, np.float32), np.zeros(1, np.float32))
    member = Member(np.ones(1, np.float32), optimizer, moments, np.zeros(2))
    best = Best(member.theta, moments, member.behavior)
    state = State(1, (member,), archive_of([[0.0, 1.0]]), (Weight(),), best)
    assert (
        digest(state, METRICS) == "bcaf83fa2e9eb3bf063ab274db4b4fc01775624c873680069872fe3de699fdbc"
    )
