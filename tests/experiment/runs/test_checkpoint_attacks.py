"""Checkpoints that somebody has tampered with: refused, and nothing in them runs."""

import json
import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bounded import allocating_less_than
from checkpoints import CONFIG, a_state, assert_falls_back, same
from forged import Bomb, forge, forge_state, tensor, tensor_file
from nses.core.moments import Moments
from nses.core.optimizers import OptimizerState
from nses.experiment.runs import formats
from nses.experiment.runs.checkpoint import (
    FILES,
    MANIFEST,
    POINTER,
    SCALARS,
    load,
    load_archive,
    load_best,
    save,
)
from nses.experiment.runs.storage import CheckpointRefused


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
    with allocating_less_than(64 << 20):
        assert_falls_back(two)
        for read in (load_best, load_archive):
            with pytest.raises(CheckpointRefused, match="best was refused"):
                read(two / "best")


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
        assert_falls_back(two, "the shapes of its tensors do not match")


@pytest.mark.parametrize("name", [MANIFEST, SCALARS])
@pytest.mark.parametrize(
    "data", [b"[" * 10**5, b"NaN", b'{"a": NaN}', b"[]", b"\xff", b'{"sha256": "\\ud800"}', b"{}"]
)
def test_s10_json_that_nses_did_not_write_is_refused(two: Path, name: str, data: bytes) -> None:
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
