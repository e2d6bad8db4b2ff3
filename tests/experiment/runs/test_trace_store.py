"""Traces that checkpoints share: stored once, and under every fault as safe as the rest."""

import errno
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bounded import allocating_less_than
from checkpoints import (
    CONFIG,
    a_state,
    assert_no_trace_is_left_over,
    fill,
    flipped,
    grown,
    one_bit_flipped,
    remembered,
    same,
    tree,
    uncommitted,
)
from forged import Bomb, forge, tensor, tensor_file
from nses.core.archive import archive_of
from nses.experiment.runs import storage, trace_store
from nses.experiment.runs.checkpoint import MANIFEST, SCALARS, TRACES, load, save, stored
from nses.experiment.runs.encoding import sha256
from nses.experiment.runs.storage import CheckpointRefused, StorageFailed


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """The checkpoints of generations 1 and 2, which share all traces but the newest."""
    directory = tmp_path / "checkpoints"
    save(directory, grown(1), CONFIG)
    save(directory, grown(2), CONFIG)
    return directory


def entry(directory: Path, name: str, checkpoint: str = "000002") -> dict[str, Any]:
    return json.loads((directory / checkpoint / MANIFEST).read_bytes())["traces"][name]


def trace_file(directory: Path, i: int) -> Path:
    """Of entry i of the archive; generation 2 alone needs entry 3."""
    return directory / TRACES / f"{entry(directory, f'archive.{i}')['sha256']}.safetensors"


def assert_falls_back(directory: Path, *reasons: str) -> None:
    loaded = load(directory)
    assert same(loaded.state, grown(1))
    told = " ".join(loaded.notes)
    for reason in ("Checkpoint 000002 was refused: ", "Checkpoint 000001 is used", *reasons):
        assert reason in told


def test_l11_every_trace_is_stored_once_however_many_checkpoints_need_it(tmp_path: Path) -> None:
    for generation in range(30):
        save(tmp_path, grown(generation, length=1000), CONFIG, keep_every=2)
    assert len(stored(tmp_path)) == 17
    size = sum(len(data) for data in tree(tmp_path).values())
    assert size < 2 * sum(trace.nbytes for trace in grown(29, length=1000).archive.traces)
    for generation in (0, 14, 29):
        assert same(load(tmp_path, at_most=generation).state, grown(generation, length=1000))


def test_equal_traces_share_a_file_and_their_memory(tmp_path: Path) -> None:
    trace = np.ones((1000, 4), np.uint8)
    state = remembered(a_state(1), archive_of([trace, trace + 1, trace]))
    save(tmp_path, state, CONFIG)
    assert len(os.listdir(tmp_path / TRACES)) == 2
    loaded = load(tmp_path).state
    assert same(loaded, state)
    assert np.shares_memory(loaded.archive.traces[0], loaded.archive.traces[2])
    assert np.shares_memory(loaded.archive.traces[0], loaded.best.behavior)


def test_a_save_writes_no_trace_that_is_there(two: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (two / TRACES).iterdir()}
    save(two, grown(3), CONFIG)
    after = {path: path.stat().st_mtime_ns for path in (two / TRACES).iterdir()}
    assert len(after) == len(before) + 1
    assert before.items() <= after.items()


def test_runs_without_traces_have_no_directory_of_them(tmp_path: Path) -> None:
    save(tmp_path, a_state(1), CONFIG)
    assert not (tmp_path / TRACES).exists()


@settings(deadline=None, max_examples=100)
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_s5_one_flipped_bit_in_a_trace_refuses_the_checkpoints_that_need_it(
    pristine: Path, where: float, bit: int
) -> None:
    with one_bit_flipped(trace_file(pristine, 3), where, bit):
        assert_falls_back(pristine)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("run") / "checkpoints"
    for generation in (1, 2):
        save(directory, grown(generation), CONFIG)
    return directory


def test_s5_a_damaged_trace_that_all_need_leaves_none_and_is_named(two: Path) -> None:
    path = trace_file(two, 0)
    path.write_bytes(flipped(path.read_bytes(), 150, 3))
    with pytest.raises(CheckpointRefused, match="holds no valid checkpoint") as refused:
        load(two)
    assert str(refused.value).count(f"{path.name} is damaged: SHA-256 differs") == 2


def cut(path: Path) -> None:
    os.truncate(path, 100)


def replace_by_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def replace_by_a_link(path: Path) -> None:
    elsewhere = path.parent.parent.parent / "elsewhere"
    os.rename(path, elsewhere)
    path.symlink_to(elsewhere)


def replace_by_terabytes(path: Path) -> None:
    with open(path, "wb") as file:
        file.write(tensor_file({"trace": tensor([10**12, 8], 0, 8 * 10**12, "U8")}))
        try:
            file.truncate(8 * 10**12)
        except OSError:
            pytest.skip("this file system has no files of eight terabytes")


def replace_by_a_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps(Bomb(path.parent.parent / "crater")))


FAULTS: dict[str, Callable[[Path], None]] = {
    "S4, truncated": cut,
    "S6, missing": Path.unlink,
    "S9, a pickle": replace_by_a_pickle,
    "S9, a pipe": replace_by_a_pipe,
    "S10, eight terabytes": replace_by_terabytes,
    "S11, a link": replace_by_a_link,
}


@pytest.mark.parametrize("harm", FAULTS.values(), ids=FAULTS.keys())
def test_s4_to_s11_a_trace_that_is_not_as_written_is_refused_by_name_and_healed_by_the_next_save(
    two: Path, harm: Callable[[Path], None]
) -> None:
    path = trace_file(two, 3)
    harm(path)
    assert_falls_back(two, path.name)
    assert not (two / "crater").exists()
    save(two, grown(3), CONFIG)  # the run itself still knows it
    assert load(two).notes == ()
    assert same(load(two).state, grown(3))
    assert same(load(two, at_most=2).state, grown(2))


@pytest.mark.parametrize("make", [Path.symlink_to, lambda path, _: path.write_text("mine")])
def test_s11_no_link_or_file_stands_in_for_the_directory_of_traces(
    two: Path, make: Callable[[Path, Path], Any]
) -> None:
    elsewhere = two.parent / "elsewhere"
    os.rename(two / TRACES, elsewhere)
    make(two / TRACES, elsewhere)
    before = tree(elsewhere)
    with pytest.raises(CheckpointRefused, match="traces is not a directory"):
        load(two)
    with pytest.raises(StorageFailed, match=r"traces: it should be a directory.*Move it away"):
        save(two, grown(3), CONFIG, keep_last=1)
    save(two, a_state(4), CONFIG, keep_last=1)  # needs no traces, and removes none elsewhere
    assert tree(elsewhere) == before
    assert os.path.lexists(two / TRACES)


HOSTILE_ENTRIES: dict[str, Any] = {
    "a path": {"size": 1, "sha256": "../" * 20 + "abcd"},
    "an absolute path": {"size": 1, "sha256": "/etc/passwd"},
    "capitals": {"size": 1, "sha256": "A" * 64},
    "a number": {"size": 1, "sha256": 5},
    "a size of text": {"size": "1", "sha256": "a" * 64},
    "a negative size": {"size": -1, "sha256": "a" * 64},
    "a boundless size": {"size": 10**30, "sha256": "a" * 64},
    "more than the memory": {"size": 10**17, "sha256": "a" * 64},
    "no size": {"sha256": "a" * 64},
    "a list": [],
    "nothing": None,
}


@pytest.mark.parametrize("hostile", HOSTILE_ENTRIES.values(), ids=HOSTILE_ENTRIES.keys())
def test_s10_hostile_references_are_refused(two: Path, hostile: Any) -> None:
    entries = json.loads((two / "000002" / MANIFEST).read_bytes())["traces"]
    forge(two / "000002", entries | {"archive.3": hostile})
    assert_falls_back(two)
    save(two, grown(9), CONFIG, keep_last=9)  # what refers to such traces, nobody knows
    assert same(load(two).state, grown(9))


@pytest.mark.parametrize("entries", [[], "traces", 5])
def test_s10_references_that_are_no_table_are_refused(two: Path, entries: Any) -> None:
    forge(two / "000002", entries)
    assert_falls_back(two, "expected a table")


HOSTILE_TRACES = {
    "10^12 bytes": tensor_file({"trace": tensor([10**12, 128], 0, 128 * 10**12, "U8")}),
    "10^12 bytes in 8": tensor_file({"trace": tensor([10**12, 128], 0, 8, "U8")}, bytes(8)),
    "a header of 2^62 bytes": tensor_file({}, length=2**62),
    "three dimensions": tensor_file({"trace": tensor([2, 2, 2], 0, 8, "U8")}, bytes(8)),
    "numbers": tensor_file({"trace": tensor([40, 4], 0, 1280)}, bytes(1280)),
    "another length": tensor_file({"trace": tensor([41, 4], 0, 164, "U8")}, bytes(164)),
    "another name": tensor_file({"x": tensor([40, 4], 0, 160, "U8")}, bytes(160)),
    "nothing": tensor_file({}),
}


@pytest.mark.parametrize("data", HOSTILE_TRACES.values(), ids=HOSTILE_TRACES.keys())
def test_s10_hostile_traces_are_refused_before_anything_is_allocated(
    two: Path, data: bytes
) -> None:
    seal = sha256(data)
    (two / TRACES / f"{seal}.safetensors").write_bytes(data)
    entries = json.loads((two / "000002" / MANIFEST).read_bytes())["traces"]
    forge(two / "000002", entries | {"archive.3": {"size": len(data), "sha256": seal}})
    with allocating_less_than(16 << 20):
        assert_falls_back(two)


def test_s10_a_file_that_is_named_a_thousand_times_is_read_once(two: Path) -> None:
    data = tensor_file({"trace": tensor([1 << 20, 1], 0, 1 << 20, "U8")}, bytes(1 << 20))
    seal = sha256(data)
    (two / TRACES / f"{seal}.safetensors").write_bytes(data)
    hostile = {"size": len(data), "sha256": seal}
    forge(two / "000002", {f"archive.{i}": hostile for i in range(10**4)})
    with allocating_less_than(64 << 20):
        assert_falls_back(two)


def test_s10_a_trace_that_is_referred_to_and_held_as_well_is_refused(two: Path) -> None:
    data = tensor_file({"archive.0": tensor([40, 4], 0, 160, "U8")}, bytes(160))
    forge(two / "000002", tensors=data, scalars=(two / "000002" / SCALARS).read_bytes())
    assert_falls_back(two, "a trace twice")


def test_s6_foreign_files_among_the_traces_are_left_alone(two: Path) -> None:
    foreign = ["README", "a" * 63 + ".safetensors", "A" * 64 + ".safetensors", ".writing-x"]
    for name in foreign:
        (two / TRACES / name).write_text("mine")
    link = two / TRACES / ("b" * 64 + ".safetensors")
    link.symlink_to(two.parent)
    for generation in range(3, 7):
        save(two, grown(generation, seed=generation), CONFIG, keep_last=1)
    assert all((two / TRACES / name).read_text() == "mine" for name in foreign)
    assert link.is_symlink()
    assert load(two).notes == ()


def test_s16_traces_go_when_no_checkpoint_needs_them_any_more(two: Path) -> None:
    """They do where a run goes another way than before, from an older checkpoint."""
    save(two, grown(3, seed=1), CONFIG, keep_last=2)
    assert_no_trace_is_left_over(two)
    assert same(load(two, at_most=2).state, grown(2))
    save(two, grown(4, seed=1), CONFIG, keep_last=2)
    assert_no_trace_is_left_over(two)
    assert len(os.listdir(two / TRACES)) == 6
    assert [g for g, _ in stored(two)] == [4, 3]


def test_s16_traces_of_newer_checkpoints_and_of_every_hundredth_stay(two: Path) -> None:
    save(two, grown(5, seed=2), CONFIG, keep_last=9)
    save(two, grown(3, seed=1), CONFIG, keep_last=1, keep_every=2)
    assert [g for g, _ in stored(two)] == [5, 3, 2]
    for state in (grown(5, seed=2), grown(3, seed=1), grown(2)):
        assert same(load(two, at_most=state.generation).state, state)


@pytest.mark.parametrize("data", [b"torn", None])
def test_s16_no_trace_goes_while_a_checkpoint_cannot_say_what_it_needs(
    two: Path, data: bytes | None
) -> None:
    manifest = (two / "000002" / MANIFEST).read_bytes()
    (two / "000002" / MANIFEST).unlink()
    if data is not None:
        (two / "000002" / MANIFEST).write_bytes(data)
    before = tree(two / TRACES)
    save(two, grown(3, seed=1), CONFIG, keep_every=2)
    assert before.items() <= tree(two / TRACES).items()
    (two / "000002" / MANIFEST).write_bytes(manifest)  # restored from a copy
    assert same(load(two, at_most=2).state, grown(2))


def test_s16_nothing_changes_when_a_trace_does_not_come_back_as_written(
    two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing_disk(path: Path, data: bytes) -> None:
        storage.write_synced(path, flipped(data, len(data) // 2, 3))

    before = tree(two)
    monkeypatch.setattr(trace_store, "write_synced", failing_disk)
    with pytest.raises(StorageFailed, match="does not read back as it was written"):
        save(two, grown(3), CONFIG, keep_last=1)
    assert tree(two) == before


def test_s1_a_full_disk_leaves_the_old_checkpoint_and_no_half_trace(disk: Path) -> None:
    save(disk, grown(1, length=2000), CONFIG)
    outcomes = set()
    for free in range(0, 40 << 10, 4 << 10):  # a trace has 8 KB
        fill(disk / "ballast", free)
        try:
            save(disk, grown(3, length=2000), CONFIG)
            outcomes.add("saved")
            break
        except StorageFailed as error:
            outcomes.add(str(error.__cause__ and error.__cause__.args[0]))
        assert load(disk).notes == ()
        assert same(load(disk).state, grown(1, length=2000))
        assert uncommitted(disk) == uncommitted(disk / TRACES) == []
    assert outcomes == {"saved", str(errno.ENOSPC)}
    assert same(load(disk).state, grown(3, length=2000))
