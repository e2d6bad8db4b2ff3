"""Memory that processes share by descriptor."""

import mmap
import os
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from nses.execution.shared import (
    ALIGNMENT,
    LARGE,
    Field,
    anonymous_file,
    map_arrays,
    size_of,
    zeros,
)

FIELDS: list[Field] = [
    ("bytes", "u1", (3,)),
    ("numbers", "f8", (5, 2)),
    ("one", "f8", (1,)),
    ("table", "f4", (1001,)),
]


def fill(arrays: dict[str, np.ndarray]) -> None:
    for array in arrays.values():
        array.reshape(-1)[:] = np.arange(array.size) % 250


@pytest.mark.parametrize("rows", [0, 3, LARGE // 16])
def test_zeros_can_be_written_and_are_alone(rows: int):
    a, b = zeros("f8", (rows, 2)), zeros("f8", (rows, 2))
    a[:] = 1.0
    assert (a.sum(), b.sum()) == (2.0 * rows, 0.0)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_large_zeros_take_memory_only_where_they_are_written():
    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE

    before = resident()
    a = zeros("f8", (4 * LARGE,))
    a[:: LARGE // 8] = 1.0  # 32 pages, which huge pages would turn into 64 MB
    assert resident() - before < 2 * LARGE


def test_what_one_mapping_writes_another_reads():
    descriptor = anonymous_file(size_of(FIELDS))
    ours, theirs = map_arrays(descriptor, FIELDS), map_arrays(descriptor, FIELDS)
    os.close(descriptor)  # mappings outlive it
    assert not any(array.any() for array in theirs.values())
    fill(ours)
    for name, dtype, shape in FIELDS:
        assert theirs[name].dtype == dtype
        assert theirs[name].shape == shape
        np.testing.assert_array_equal(theirs[name], ours[name])
        np.testing.assert_array_equal(ours[name].reshape(-1), np.arange(ours[name].size) % 250)


def test_a_file_may_have_a_content_which_every_process_reads_from_its_beginning():
    descriptor = anonymous_file(8, b"plan")
    script = f"import os, sys; sys.stdout.write(os.pread({descriptor}, 9, 0).decode())"
    for _ in range(2):
        command = [sys.executable, "-c", script]
        assert subprocess.check_output(command, pass_fds=[descriptor]) == b"plan" + bytes(4)
    os.close(descriptor)


def test_another_process_reads_it_by_descriptor():
    descriptor = anonymous_file(size_of(FIELDS))
    fill(map_arrays(descriptor, FIELDS))
    script = (
        "from nses.execution.shared import map_arrays\n"
        f"print(map_arrays({descriptor}, {FIELDS!r})['table'].sum())"
    )
    output = subprocess.check_output([sys.executable, "-c", script], pass_fds=[descriptor])
    os.close(descriptor)
    assert float(output) == (np.arange(1001) % 250).sum()


def test_arrays_start_on_cache_lines_and_do_not_overlap():
    descriptor = anonymous_file(size_of(FIELDS))
    arrays = map_arrays(descriptor, FIELDS)
    os.close(descriptor)
    starts = [array.ctypes.data for array in arrays.values()]
    assert [start % ALIGNMENT for start in starts] == [0] * len(FIELDS)
    for start, array, following in zip(starts, arrays.values(), starts[1:], strict=False):
        assert start + array.nbytes <= following
    assert size_of(FIELDS) % ALIGNMENT == 0


def test_p5_it_has_no_name_that_could_be_left_behind():
    descriptor = anonymous_file(4096)
    assert os.readlink(f"/proc/self/fd/{descriptor}").endswith("(deleted)")
    assert not os.readlink(f"/proc/self/fd/{descriptor}").startswith("/dev/shm")
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)


def test_it_works_where_memory_files_do_not_exist(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", None)
    descriptor = anonymous_file(mmap.PAGESIZE)
    assert os.fstat(descriptor).st_size == mmap.PAGESIZE
    assert os.fstat(descriptor).st_nlink == 0
    os.close(descriptor)
