"""Names, atomic files and locks, each with the fault it is there for."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nses.experiment.runs import storage
from nses.experiment.runs.storage import (
    DirectoryLock,
    StorageFailed,
    contained,
    safe_name,
    slug,
    write_atomically,
)

HOSTILE_NAMES = ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\0b", "a\n", ".hidden", "-rf"]
HOSTILE_NAMES += ["x" * 300, "x" * 101, "a\\b", "ä", "a b", "~root", "$HOME"]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_s11_a_hostile_name_is_refused_politely(name: str) -> None:
    with pytest.raises(ValueError, match="letters, digits") as refusal:
        safe_name(name)
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize("name", ["a", "CartPole-v1", "seed-0", "0", "best.safetensors", "x" * 100])
def test_an_ordinary_name_is_left_as_it_is(name: str) -> None:
    assert safe_name(name) == name


SUSPICIOUS = st.text(st.sampled_from("aZ09._-/\\\0\n ä:~"), max_size=105)


@given(SUSPICIOUS | st.text())
def test_s11_what_passes_as_a_name_is_one_component_below_its_directory(name: str) -> None:
    try:
        safe_name(name)
    except ValueError:
        return
    assert Path("/runs", name).parent == Path("/runs")
    assert Path("/runs", name).name == name


@pytest.mark.parametrize("name", ["..", "../x", "a/../..", "/etc", "a//b", "", "a/", "a\0b"])
def test_s11_a_path_that_climbs_out_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="letters, digits"):
        contained(tmp_path, name)


def test_s11_a_symlink_out_is_refused_wherever_it_is_in_the_path(tmp_path: Path) -> None:
    outside, runs = tmp_path / "outside", tmp_path / "runs"
    outside.mkdir()
    runs.mkdir()
    (runs / "link").symlink_to(outside)
    (runs / "link-to-link").symlink_to("link")
    (runs / "self").symlink_to(".")
    for name in ("link", "link/x", "link-to-link", "link-to-link/x/y", "self"):
        with pytest.raises(ValueError, match="leads out of"):
            contained(runs, name)


def test_a_path_inside_is_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert contained(tmp_path, "link/x") == tmp_path.resolve() / "real" / "x"
    assert contained(tmp_path, "task/es/seed-1") == tmp_path.resolve() / "task" / "es" / "seed-1"


@pytest.mark.parametrize(
    ("task", "component"),
    [
        ("CartPole-v1", "CartPole-v1"),
        ("point-trap", "point-trap"),
        ("ALE/Frostbite-v5", "ALE__Frostbite-v5"),
        ("my.module:Env", "my.module--Env"),
        ("任务", "task-5253040d"),  # L7
        ("x" + "я" * 99, "x" + "-" * 91 + "217a6350"),  # L7
    ],
)
def test_a_task_name_becomes_one_readable_component(task: str, component: str) -> None:
    assert slug(task) == component


@pytest.mark.parametrize(
    "task", ["", ".", "..", "...", "/", "a\0b", "a\nb", "x" * 101, "../x", "/etc", "a//b", "___"]
)
def test_s11_a_hopeless_task_name_is_refused(task: str) -> None:
    with pytest.raises(ValueError, match="a task must be"):
        slug(task)


def test_task_names_that_differ_in_odd_characters_keep_different_directories() -> None:
    tasks = ["a b", "a-b", "a,b", "a\\b", "_a-b", "ä-b", "ö-b", "a:b", "a/b", "a_b"]
    assert len({slug(task) for task in tasks}) == len(tasks)


@given(SUSPICIOUS | st.text(max_size=120))
def test_s11_any_task_name_is_one_safe_component_or_refused(task: str) -> None:
    try:
        component = slug(task)
    except ValueError:
        return
    assert safe_name(component) == component


def test_an_atomic_write_replaces_the_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["config.json"]


@pytest.mark.parametrize("step", ["write_synced", "os.fsync", "os.replace"])
def test_s1_a_failed_write_keeps_the_old_file_and_removes_the_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "config.json"
    write_atomically(path, b"old")
    real = storage.write_synced

    def fail(*arguments: object) -> None:
        if step == "write_synced":
            real(*arguments)  # type: ignore[arg-type]
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage if step == "write_synced" else os, step.removeprefix("os."), fail)
    with pytest.raises(StorageFailed, match="No space left on device"):
        write_atomically(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["config.json"]


@pytest.mark.parametrize("data", [b"", b"x" * 10_000, bytes(range(256)) * 4096])
def test_an_atomic_write_stores_every_byte(tmp_path: Path, data: bytes) -> None:
    write_atomically(tmp_path / "x", data)
    assert (tmp_path / "x").read_bytes() == data


def test_a_temporary_of_a_dead_process_is_removed_and_that_of_a_living_one_is_not(
    tmp_path: Path,
) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    living = os.getppid()
    (tmp_path / f".x.{dead.pid}.writing").write_text("torn")
    (tmp_path / f".x.{os.getpid()}.writing").write_text("torn, in another life")
    (tmp_path / f".x.{living}.writing").write_text("under way")
    (tmp_path / ".x.me.writing").write_text("foreign")
    write_atomically(tmp_path / "x", b"data")
    assert set(os.listdir(tmp_path)) == {"x", f".x.{living}.writing", ".x.me.writing"}


def unwritable(tmp_path: Path) -> list[Path]:
    """Places where not even root can write."""
    (tmp_path / "file").write_text("")
    places = [tmp_path / "file", tmp_path / "vanished", Path("/proc/self"), Path("/sys/kernel")]
    return [place for place in places if place.exists() or place.parent == tmp_path]


def test_s3_what_cannot_be_written_is_said_with_its_path_and_the_reason(tmp_path: Path) -> None:
    for place in unwritable(tmp_path):
        with pytest.raises(StorageFailed, match=r"could not write .*config\.json: "):
            write_atomically(place / "config.json", b"{}")
        with pytest.raises(StorageFailed, match="could not write"):
            DirectoryLock(place)
    assert os.listdir(tmp_path) == ["file"]


HOLD = """
import json, os, subprocess, sys, time
from nses.experiment.runs.storage import DirectoryLock

lock = DirectoryLock(sys.argv[1])
heir = subprocess.Popen(["sleep", "60"], close_fds=False)
print(json.dumps({"heir": heir.pid}), flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock, and has a child that outlives it."""
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    heir = json.loads(process.stdout.readline())["heir"]
    with process:
        yield process
        os.kill(heir, signal.SIGKILL)  # it would have kept an inherited lock until here
        process.kill()


def test_s12_a_second_process_is_refused_at_once_and_told_who_holds_the_directory(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    start = time.monotonic()
    with pytest.raises(ValueError, match=rf"in use by process {holder.pid} on .*--run-dir"):
        DirectoryLock(tmp_path)
    assert time.monotonic() - start < 30  # half as long as it is held


def test_s12_the_lock_dies_with_its_process_though_a_child_of_it_lives_on(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with DirectoryLock(tmp_path):
        assert (tmp_path / storage.LOCK).read_text().startswith(f"process {os.getpid()} on ")


def test_s12_the_same_process_cannot_take_a_lock_twice_and_can_take_it_again(
    tmp_path: Path,
) -> None:
    with DirectoryLock(tmp_path) as lock:
        with pytest.raises(ValueError, match=f"process {os.getpid()}"):
            DirectoryLock(tmp_path)
        lock.close()
        lock.close()
        with DirectoryLock(tmp_path):
            pass


def test_s12_a_refused_lock_leaks_no_descriptor(tmp_path: Path) -> None:
    with DirectoryLock(tmp_path):
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            with pytest.raises(ValueError, match="in use"):
                DirectoryLock(tmp_path)
        assert len(os.listdir("/proc/self/fd")) == before


def test_s11_a_lock_that_is_a_symlink_out_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / storage.LOCK).symlink_to("../victim")
    with pytest.raises(StorageFailed, match="could not write"):
        DirectoryLock(tmp_path / "run")
    assert (tmp_path / "victim").read_text() == "precious"
