"""Checkpoints under every fault of the storage table: the fault is real, the State is exact."""

import errno
import json
import math
import os
import pickle
import random
import shutil
import signal
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import nses
from nses.core.archive import Archive, archive_of, empty
from nses.core.moments import Moments
from nses.core.optimizers import OptimizerState
from nses.core.seeding import Purpose, generator
from nses.core.values import Best, Member, State
from nses.core.weight import Weight
from nses.experiment.runs import checkpoint, formats, storage
from nses.experiment.runs.checkpoint import (
    FILES,
    MANIFEST,
    POINTER,
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
from nses.experiment.runs.formats import Content
from nses.experiment.runs.storage import CheckpointRefused, StorageFailed

CONFIG = {"task": "point-trap", "sigma": 0.02, "hidden": [16, 16], "note": "äöü", "n": None}


def a_state(generation: int, seed: int = 0, d: int = 7) -> State:
    """A State with members, an archive and numbers that look like those of a run."""
    rng = generator(seed, generation, 0, Purpose.POLICY_INIT)

    def member() -> Member:
        theta, m, v = rng.standard_normal((3, d), np.float32)
        moments = Moments(float(rng.random()), rng.random(3), rng.random(3))
        return Member(theta, OptimizerState(generation, m, v), moments, rng.random(2))

    members = (member(), member())
    best = Best(members[0].theta, members[0].moments, members[0].behavior, 1.5, generation, 1)
    archive = archive_of(rng.random((2, 2))).append(rng.random(2))
    return State(generation, members, archive, (Weight(0.5),), best, 10 * generation, 999, 1)


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same bit for bit (for a NaN outside a tensor: also a NaN)."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Archive):
        return same(tuple(a.traces or a.rows), tuple(b.traces or b.rows))
    if is_dataclass(a):
        return all(same(getattr(a, x.name), getattr(b, x.name)) for x in fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b) or (math.isnan(a) and math.isnan(b))
    return a == b


def tree(directory: Path) -> dict[str, bytes]:
    """All files below a directory, and what is in them."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def uncommitted(directory: Path) -> list[str]:
    """What should not be left lying about."""
    return [name for name in os.listdir(directory) if name.startswith(".")]


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A directory with the checkpoints of generations 1 and 2."""
    directory = tmp_path / "checkpoints"
    save(directory, a_state(1), CONFIG)
    save(directory, a_state(2), CONFIG)
    return directory


def assert_falls_back(directory: Path, *reasons: str) -> None:
    """Generation 2 is refused, by name and reason, and generation 1 is used, which is said."""
    loaded = load(directory)
    assert same(loaded.state, a_state(1))
    assert loaded.path == directory / "000001"
    told = " ".join(loaded.notes)
    for reason in ("Checkpoint 000002 was refused: ", "Checkpoint 000001 is used", *reasons):
        assert reason in told


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


def test_a_loaded_state_can_be_gone_on_from(two: Path) -> None:
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


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "nses-test", str(path)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a file system needs root")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


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


def fill(ballast: Path, free: int) -> None:
    """Leave `free` bytes of a disk."""
    ballast.unlink(missing_ok=True)
    status = os.statvfs(ballast.parent)
    ballast.write_bytes(bytes(max(0, status.f_bavail * status.f_frsize - free)))


LIMITED = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from test_checkpoint import CONFIG, StorageFailed, a_state, save

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
    command = [sys.executable, "-c", LIMITED, str(Path(__file__).parent), str(directory), "30000"]
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
    path = pristine / "000002" / name
    data = path.read_bytes()
    try:
        path.write_bytes(flipped(data, int(where * len(data)), bit))
        assert_falls_back(pristine)
    finally:
        path.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_s5_no_byte_at_all_can_be_changed_unnoticed(two: Path, name: str) -> None:
    path = two / "000002" / name
    data = path.read_bytes()
    for position in range(len(data)):
        path.write_bytes(flipped(data, position, position % 8))
        assert load(two).path.name == "000001"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two checkpoints, as the examples of one test leave them to each other."""
    directory = tmp_path_factory.mktemp("run") / "checkpoints"
    save(directory, a_state(1), CONFIG)
    save(directory, a_state(2), CONFIG)
    return directory


def flipped(data: bytes, position: int, bit: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1 :]


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
    assert loaded.notes[0] == "Checkpoint 000002 was written, and is gone."


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
    with pytest.raises(CheckpointRefused, match="nothing can read format 2 any more"):
        load(two)


class Bomb:
    """An object whose unpickling creates a file."""

    def __init__(self, crater: Path):
        self.crater = crater

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, (str(self.crater),)


@pytest.mark.parametrize("name", [*FILES, POINTER, "best", "archive"])
def test_s9_a_malicious_pickle_in_place_of_a_file_is_never_executed(two: Path, name: str) -> None:
    crater = two.parent / "crater"
    bomb = pickle.dumps(Bomb(crater))
    if name in FILES:
        (two / "000002" / name).write_bytes(bomb)
        assert_falls_back(two)
    elif name == POINTER:
        (two / name).write_bytes(bomb)
        assert same(load(two).state, a_state(2))
    else:
        (two / name).write_bytes(bomb)
        with pytest.raises(CheckpointRefused, match="was refused"):
            (load_best if name == "best" else load_archive)(two / name)
    assert not crater.exists()
    pickle.loads(bomb)
    assert crater.exists()  # the bomb was live


def forge(path: Path, traces: Any = None, **files: bytes) -> None:
    """Other files in a checkpoint, with a manifest that vouches for them, as an attacker can."""
    for name, data in files.items():
        (path / {"tensors": TENSORS, "scalars": SCALARS}[name]).write_bytes(data)
    entries = {
        name: {"size": (path / name).stat().st_size, "sha256": checkpoint.sha256(data)}
        for name in (TENSORS, SCALARS)
        for data in [(path / name).read_bytes()]
    }
    known = json.loads((path / MANIFEST).read_bytes())["traces"] if traces is None else traces
    manifest = formats.sealed({"config": CONFIG, "files": entries, "traces": known})
    (path / MANIFEST).write_bytes(manifest)


def forge_state(path: Path, state: State) -> None:
    """Another state in a checkpoint."""
    scalars, tensors = checkpoint.take_apart(State, state)
    files = checkpoint._files(scalars, tensors, {}, CONFIG)
    forge(path, {}, tensors=files[TENSORS], scalars=files[SCALARS])


def tensor_file(header: Any, body: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def tensor(shape: list[Any], begin: int, end: int, dtype: str = "F64") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


HOSTILE_TENSORS = {
    "nothing": b"",
    "a header of 2^62 bytes": tensor_file({}, length=2**62),
    "a header of 2^64 - 1 bytes": tensor_file({}, length=2**64 - 1),
    "a header longer than the file": tensor_file({}, length=3),
    "10^12 elements": tensor_file({"x": tensor([10**12], 0, 8 * 10**12)}),
    "10^12 elements in 8 bytes": tensor_file({"x": tensor([10**12], 0, 8)}, bytes(8)),
    "a product that overflows to 0": tensor_file({"x": tensor([2**31, 2**31, 4], 0, 0)}),
    "an extent beyond any": tensor_file({"x": tensor([0, 2**63], 0, 0)}),
    "a negative extent": tensor_file({"x": tensor([-1, -1], 0, 8)}, bytes(8)),
    "10^5 dimensions": tensor_file({"x": tensor([1] * 10**5, 0, 8)}, bytes(8)),
    "an extent that is no number": tensor_file({"x": tensor([True], 0, 8)}, bytes(8)),
    "two tensors in one place": tensor_file(
        {"x": tensor([1], 0, 8), "y": tensor([1], 0, 8)}, bytes(8)
    ),
    "two tensors in one place, and a hole": tensor_file(
        {"x": tensor([1], 0, 8), "y": tensor([1], 0, 8)}, bytes(16)
    ),
    "one name twice": tensor_file(
        b'{"x":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},'
        b'"x":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}}',
        bytes(16),
    ),
    "a hole": tensor_file({"x": tensor([1], 8, 16)}, bytes(16)),
    "more than it says": tensor_file({"x": tensor([1], 0, 8)}, bytes(16)),
    "another type": tensor_file({"x": tensor([1], 0, 8, "I64")}, bytes(8)),
    "offsets that are no pair": tensor_file({"x": {**tensor([1], 0, 8), "data_offsets": [8]}}),
    "no JSON": tensor_file(b"\xff\xfe\xfd"),
    "a list": tensor_file([]),
    "JSON of bottomless depth": tensor_file(b"[" * 10**6),
    "a number of a million digits": tensor_file(b'{"x":' + b"9" * 10**6 + b"}"),
    "9 MB of header": tensor_file(b" " * (9 << 20)),
    "tensors that nobody knows": tensor_file({"x": tensor([1], 0, 8)}, bytes(8)),
}


@pytest.mark.parametrize("data", HOSTILE_TENSORS.values(), ids=HOSTILE_TENSORS.keys())
def test_s10_hostile_tensors_are_refused_before_anything_is_allocated(
    two: Path, data: bytes
) -> None:
    forge(two / "000002", tensors=data)
    (two / "best").write_bytes(data)
    tracemalloc.start()
    assert_falls_back(two)
    for read in (load_best, load_archive):
        with pytest.raises(CheckpointRefused, match="best was refused"):
            read(two / "best")
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


HOSTILE_SCALARS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "not a table": lambda x: [x],
    "a missing field": lambda x: {k: v for k, v in x.items() if k != "episodes"},
    "an unknown field": lambda x: x | {"__class__": "os.system"},
    "a negative generation": lambda x: x | {"generation": -1},
    "a fraction of a generation": lambda x: x | {"generation": 2.0},
    "a true generation": lambda x: x | {"generation": True},
    "a boundless count": lambda x: x | {"episodes": 10**30},
    "a score of text": lambda x: x | {"best": x["best"] | {"score": "high"}},
    "a score of nothing": lambda x: x | {"best": x["best"] | {"score": None}},
    "a boundless score": lambda x: x | {"best": x["best"] | {"score": 10**400}},
    "a huge shape": lambda x: x | {"archive": [10**12, 10**12]},
    "another shape": lambda x: x | {"archive": [2, 3]},
    "no shape": lambda x: x | {"archive": None},
    "10^4 members": lambda x: x | {"members": x["members"] * 5000},
    "no members": lambda x: x | {"members": []},
    "members that are no list": lambda x: x | {"members": {}},
    "no weights": lambda x: x | {"weights": []},
    "three weights": lambda x: x | {"weights": x["weights"] * 3},
    "an update of a third member": lambda x: x | {"updated": 2},
    "an update of a member before the first": lambda x: x | {"updated": -1},
}


@pytest.mark.parametrize("change", HOSTILE_SCALARS.values(), ids=HOSTILE_SCALARS.keys())
def test_s10_hostile_scalars_are_refused(
    two: Path, change: Callable[[dict[str, Any]], Any]
) -> None:
    path = two / "000002"
    scalars = json.loads((path / SCALARS).read_bytes())
    forge(path, scalars=json.dumps(change(scalars)).encode())
    assert_falls_back(two)


def test_s10_tensors_that_do_not_fit_each_other_are_refused(two: Path) -> None:
    state = a_state(2)
    member = state.members[0]
    for misfit in (
        replace(member, optimizer=OptimizerState(1, member.theta[:3], member.theta)),
        replace(member, moments=Moments(1.0, np.zeros(2), np.zeros(3))),
    ):
        forged = replace(state, members=(misfit, state.members[1]))
        forge_state(two / "000002", forged)
        assert_falls_back(two, "do not fit each other")


@pytest.mark.parametrize("name", [MANIFEST, SCALARS])
@pytest.mark.parametrize(
    "data", [b"[" * 10**5, b"NaN", b'{"a": NaN}', b"[]", b"\xff", b'{"sha256": "\\ud800"}', b"{}"]
)
def test_s10_json_that_is_none_of_ours_is_refused(two: Path, name: str, data: bytes) -> None:
    (two / "000002" / name).write_bytes(data)
    if name == SCALARS:
        forge(two / "000002")
    assert_falls_back(two)


@pytest.mark.parametrize("name", [*FILES, POINTER, "best"])
def test_s10_a_file_of_eight_terabytes_is_refused_unread(two: Path, name: str) -> None:
    path = two / "000002" / name if name in FILES else two / name
    elements = 10**12
    header = tensor_file({"archive": tensor([elements], 0, 8 * elements)})
    with open(path, "wb") as file:  # sparse: it takes no room
        file.write(header)
        try:
            file.truncate(len(header) + 8 * elements)
        except OSError:
            pytest.skip("this file system has no files of eight terabytes")
    if name == "best":
        with pytest.raises(CheckpointRefused, match="more than this machine's memory"):
            load_archive(path)
    elif name == POINTER:
        assert same(load(two).state, a_state(2))
    else:
        assert_falls_back(two, name)


@pytest.mark.parametrize(
    "name", ["../state.json", "/etc/passwd", "a\0b", "x" * 300, "state.json/../state.json", ""]
)
def test_s11_a_hostile_name_in_a_manifest_is_refused(two: Path, name: str) -> None:
    path = two / "000002"
    entries = json.loads((path / MANIFEST).read_bytes())["files"]
    entries[name] = entries.pop(SCALARS)
    (path / MANIFEST).write_bytes(formats.sealed({"config": {}, "files": entries, "traces": {}}))
    assert_falls_back(two)


def test_s11_a_hostile_pointer_leads_nowhere(two: Path) -> None:
    for name in ("../000002", "/etc", "x" * 300, "a\0b", None, 5, "9" * 5000):
        (two / POINTER).write_text(json.dumps({"checkpoint": name}))
        assert same(load(two).state, a_state(2))


@pytest.mark.parametrize("name", FILES)
def test_s11_a_symlink_in_place_of_a_file_is_refused(two: Path, name: str) -> None:
    os.rename(two / "000002" / name, two.parent / name)
    (two / "000002" / name).symlink_to(two.parent / name)
    assert_falls_back(two, name)


def test_s11_a_symlink_in_place_of_a_checkpoint_is_refused_and_what_it_names_is_kept(
    two: Path,
) -> None:
    os.rename(two / "000002", two.parent / "elsewhere")
    (two / "000002").symlink_to(two.parent / "elsewhere")
    assert_falls_back(two, "not a directory")
    save(two, a_state(2), CONFIG)
    assert same(load(two).state, a_state(2))
    assert set(os.listdir(two.parent / "elsewhere")) == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_s9_a_pipe_in_place_of_a_file_does_not_hang(two: Path, name: str) -> None:
    (two / "000002" / name).unlink()
    os.mkfifo(two / "000002" / name)
    assert_falls_back(two, name)


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
        with pytest.raises(StorageFailed, match="did not come back as it was written"):
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


# Each crash is a real one: the process kills itself after the n-th step of a save. With `power`
# the machine goes with it: what was written and not yet synced is cut in half.


class Doom:
    """Counts the steps of a save, and ends the process after the n-th."""

    def __init__(self, steps: int, power: bool):
        self.left, self.power = steps, power
        self.unsynced: dict[int, int] = {}  # inode → descriptor

    def step(self) -> None:
        if self.left == 0:
            for descriptor in self.unsynced.values() if self.power else ():
                os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def impend(self) -> None:
        """Make every call that changes the disk a step."""
        for name in ("rename", "replace", "mkdir", "unlink", "rmdir", "fsync"):
            setattr(os, name, self.stepping(getattr(os, name)))
        storage.open = self.open  # type: ignore[attr-defined]

    def stepping(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> None:
            call(*arguments, **options)
            if call.__name__ == "fsync":
                self.unsynced.pop(os.fstat(arguments[0]).st_ino, None)
            self.step()

        return step

    def open(self, path: Path, mode: str, **options: Any) -> Any:
        file = open(path, mode, **options)  # noqa: SIM115  (its user closes it)
        return file if mode == "rb" else Torn(file, self)


class Torn:
    """A file that is written in three parts."""

    def __init__(self, file: Any, doom: Doom):
        self.file, self.doom = file, doom
        doom.unsynced[os.fstat(file.fileno()).st_ino] = os.dup(file.fileno())
        doom.step()

    def write(self, data: bytes) -> None:
        third = len(data) // 3 + 1
        for start in range(0, len(data), third):
            self.file.write(data[start : start + third])
            self.file.flush()
            self.doom.step()

    def flush(self) -> None:
        self.file.flush()

    def fileno(self) -> int:
        return self.file.fileno()

    def __enter__(self) -> "Torn":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


OLD, NEW = a_state(4, d=50), a_state(5, d=50)
Scene = tuple[list[State], State, State]  # what is there, what is saved in a crash, and after it
SCENES: dict[str, Scene] = {
    "the first": ([], NEW, a_state(6)),
    "the next": ([a_state(1), a_state(2), a_state(3), OLD], NEW, a_state(6)),
    "the same again": ([OLD], a_state(4, seed=1), a_state(6)),
}


def assert_no_trace_is_left_over(directory: Path) -> None:
    """All that is kept of traces is what some checkpoint needs."""
    needed: set[str] = set()
    for _, path in checkpoint.stored(directory):
        entries = json.loads((path / MANIFEST).read_bytes())["traces"].values()
        needed |= {f"{entry['sha256']}.safetensors" for entry in entries}
    assert {path.name for path in (directory / TRACES).glob("*")} == needed


def fsync(descriptor: int) -> None:
    """The real one takes most of the time of a save, and syncs what the test needs not."""


def crash_at_every_step(scratch: Path, scene: Scene, power: bool) -> dict[str, int]:
    """How often the old State was found after a crash, and how often the new one."""
    os.fsync = fsync  # the kernel survives its processes; Doom keeps account of the rest
    earlier, new, after = scene
    found = {"steps": 0, "old": 0, "new": 0}
    for steps in count():
        directory = scratch / str(steps)
        directory.mkdir(parents=True)
        for state in earlier:
            save(directory, state, CONFIG)
        child = os.fork()
        if child == 0:
            Doom(steps, power).impend()
            save(directory, new, CONFIG, keep_last=2)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        assert status == 0 or os.WTERMSIG(status) == signal.SIGKILL
        if checkpoint.stored(directory):
            state = load(directory).state
            assert same(state, new) or (earlier and same(state, earlier[-1]))
            found["new" if same(state, new) else "old"] += 1
        else:
            assert not earlier
            found["old"] += 1
        save(directory, after, CONFIG)  # life goes on, and tidies up
        assert same(load(directory).state, after)
        assert uncommitted(directory) == []
        assert_no_trace_is_left_over(directory)
        found["steps"] = steps
        if status == 0:
            return found
    raise AssertionError


def main(scenes: dict[str, Scene]) -> None:
    """What `crashes_in_a_process` runs."""
    scratch, power = Path(sys.argv[1]), sys.argv[2] == "1"
    found = {x: crash_at_every_step(scratch / x, scene, power) for x, scene in scenes.items()}
    print(json.dumps(found))


@pytest.mark.parametrize("power", [False, True], ids=["process", "power"])
def test_p4_a_crash_after_any_step_of_a_save_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, power: bool
) -> None:
    found = crashes_in_a_process(__file__, tmp_path, power)
    assert found.keys() == SCENES.keys()
    for scene in found.values():
        assert scene["steps"] > 20
        assert scene["old"] > 10
        assert scene["new"] > 4


def crashes_in_a_process(file: str, scratch: Path, power: bool) -> dict[str, dict[str, int]]:
    """In one of its own, which forks: this one may have threads."""
    command = [sys.executable, file, str(scratch), str(int(power))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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


def test_a_best_policy_is_no_archive_and_none_is_no_error_of_ours(tmp_path: Path) -> None:
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


if __name__ == "__main__":
    main(SCENES)
