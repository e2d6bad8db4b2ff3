"""Checkpoints on failing disks: the fault is real, the State is exact."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import checkpoints
from checkpoints import (
    CONFIG,
    a_state,
    assert_falls_back,
    fill,
    flipped,
    one_bit_flipped,
    same,
    tree,
    uncommitted,
)
from crashing import SCENES, crashes
from nses.experiment.runs.checkpoint import (
    FILES,
    POINTER,
    TENSORS,
    load,
    load_best,
    save,
    save_best,
)
from nses.experiment.runs.storage import CheckpointRefused, StorageFailed


def test_s1_a_full_disk_leaves_the_old_checkpoint_and_no_temporary(disk: Path) -> None:
    save(disk, a_state(1), CONFIG)
    outcomes = set()
    for free in range(0, 80 << 10, 4 << 10):  # the disk fills up in every file in turn
        fill(disk / "ballast", free)
        old, new = load(disk).state.generation, 2 + free
        try:
            save(disk, a_state(new, d=1000), CONFIG)
            outcomes.add("saved")
        except StorageFailed as error:
            outcomes.add(str(error.__cause__ and error.__cause__.args[0]))
            if old == load(disk).state.generation:
                outcomes.add("old one intact")
                assert uncommitted(disk) == []
        loaded = load(disk)
        assert loaded.state.generation in (old, new)
        assert loaded.notes == ()
    assert outcomes == {"saved", str(errno.ENOSPC), "old one intact"}
    (disk / "ballast").unlink()
    save(disk, a_state(10**6), CONFIG)  # at the next boundary there is room again
    assert same(load(disk).state, a_state(10**6))
    assert uncommitted(disk) == []


LIMITED = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from checkpoints import CONFIG, a_state
from nses.experiment.runs.checkpoint import save
from nses.experiment.runs.storage import StorageFailed

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), -1))
try:
    save(Path(sys.argv[2]), a_state(2, d=5000), CONFIG)
except StorageFailed as error:
    print(error)
"""


def test_s1_a_file_that_may_not_grow_leaves_the_old_checkpoint_and_no_temporary(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "checkpoints"
    save(directory, a_state(1), CONFIG)
    before = tree(directory)
    command = [
        sys.executable,
        "-c",
        LIMITED,
        str(Path(checkpoints.__file__).parent),
        str(directory),
        "30000",
    ]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "could not write" in told
    assert "File too large" in told
    assert tree(directory) == before
    assert uncommitted(directory) == []


def test_s3_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for directory in (tmp_path / "file", tmp_path / "vanished" / "checkpoints", Path("/proc/x")):
        with pytest.raises(StorageFailed, match=r"could not write .*000001"):
            save(directory, a_state(1), CONFIG)
        with pytest.raises(StorageFailed, match="could not write"):
            save_best(directory / "best.safetensors", a_state(1).best, {})
    assert os.listdir(tmp_path) == ["file"]


def test_s3_a_disk_that_turns_read_only_keeps_its_checkpoint(disk: Path) -> None:
    save(disk, a_state(1), CONFIG)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(StorageFailed, match="Read-only file system"):
        save(disk, a_state(2), CONFIG)
    assert same(load(disk).state, a_state(1))


@pytest.mark.parametrize("name", FILES)
def test_s4_a_truncated_file_is_refused_by_name_and_the_older_checkpoint_used(
    two: Path, name: str
) -> None:
    path = two / "000002" / name
    data = path.read_bytes()
    for length in [*range(0, len(data), 37), len(data) - 1]:
        path.write_bytes(data[:length])
        assert_falls_back(two)


def test_s4_a_truncated_file_is_named(two: Path) -> None:
    os.truncate(two / "000002" / TENSORS, 100)
    assert_falls_back(two, TENSORS, "100 bytes")


@settings(deadline=None, max_examples=200)
@given(name=st.sampled_from(FILES), where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_s5_one_flipped_bit_anywhere_falls_back_to_the_older_checkpoint(
    pristine: Path, name: str, where: float, bit: int
) -> None:
    with one_bit_flipped(pristine / "000002" / name, where, bit):
        assert_falls_back(pristine)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_s5_no_byte_at_all_can_be_changed_unnoticed(two: Path, name: str) -> None:
    path = two / "000002" / name
    data = path.read_bytes()
    for position in range(len(data)):
        path.write_bytes(flipped(data, position, position % 8))
        assert load(two).path.name == "000001"


def test_s5_a_damaged_pointer_is_only_a_hint(two: Path) -> None:
    pointer = two / POINTER
    data = pointer.read_bytes()
    for position in range(len(data)):
        for bit in range(8):
            pointer.write_bytes(flipped(data, position, bit))
            assert same(load(two).state, a_state(2))


def test_s5_one_flipped_bit_in_the_best_policy_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "best.safetensors"
    save_best(path, a_state(3).best, {"retest": "[1.0]"})
    data = path.read_bytes()
    for position in range(0, len(data), 3):
        path.write_bytes(flipped(data, position, position % 8))
        with pytest.raises(CheckpointRefused, match=r"best\.safetensors was refused"):
            load_best(path)


@pytest.mark.parametrize("name", FILES)
def test_s6_a_missing_file_is_refused_by_name(two: Path, name: str) -> None:
    (two / "000002" / name).unlink()
    assert_falls_back(two, name)


@pytest.mark.parametrize("name", ["notes.txt", "state.json~", ".hidden", "state.pkl"])
def test_s6_an_extra_file_is_refused_and_never_deleted(two: Path, name: str) -> None:
    foreign = two / "000002" / name
    foreign.write_text("mine")
    assert_falls_back(two, name)
    for generation in range(3, 9):
        save(two, a_state(generation), CONFIG, keep_last=1)
    assert foreign.read_text() == "mine"
    assert not (two / "000001").exists()


def test_s6_a_vanished_checkpoint_is_noticed(two: Path) -> None:
    shutil.rmtree(two / "000002")
    loaded = load(two)
    assert same(loaded.state, a_state(1))
    assert loaded.notes[0] == "Checkpoint 000002 was written but is missing."


def test_h2_a_checkpoint_that_vanished_with_its_pointer_is_suspected(two: Path) -> None:
    shutil.rmtree(two / "000002")
    (two / "latest.json").write_text("{")
    loaded = load(two)
    assert same(loaded.state, a_state(1))
    assert loaded.notes[0].startswith("latest.json cannot be read")


def test_s6_a_checkpoint_under_another_number_is_refused(two: Path) -> None:
    os.rename(two / "000002", two / "000005")
    assert "Checkpoint 000005 was refused: it holds generation 2." in load(two).notes


def test_s6_foreign_files_beside_the_checkpoints_are_left_alone(two: Path) -> None:
    foreign = ["README", "000009.bak", ".writing-000003", ".writing-000003-0123abcd.txt", "7"]
    for name in foreign:
        (two / name).write_text("mine")
    (two / "000000").write_text("mine")
    (two / ".writing-000003-00000000").mkdir()
    (two / ".writing-000003-00000000" / "mine").write_text("mine")
    for generation in range(3, 7):
        save(two, a_state(generation), CONFIG, keep_last=1)
    for name in [*foreign, "000000", ".writing-000003-00000000/mine"]:
        assert (two / name).read_text() == "mine"
    assert load(two).notes == ()


@pytest.mark.parametrize("power", [False, True], ids=["process", "power"])
@pytest.mark.parametrize("scene", SCENES)
def test_p4_a_crash_after_any_step_of_a_save_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, scene: str, power: bool
) -> None:
    found = crashes(scene, tmp_path, power)
    assert found["steps"] > 20
    assert found["old"] > 10
    assert found["new"] > 4
