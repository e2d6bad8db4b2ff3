"""Where compiled code is kept: never stale, never from others, and not at all if need be."""

import os
import re
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import nses
from nses.core import compiled

SOURCE = Path(nses.__file__).parent
QUICK = "import sys; sys.argv[0] = 'nses'\n"  # as the command, which does not import Gymnasium
INNER = "from nses.core.compiled import compiled\n@compiled\ndef inner(x): return x + {}\n"
OUTER = (
    "from nses.core.compiled import compiled\nfrom nses.core.inner import inner\n"
    "@compiled\ndef outer(x): return inner(x)\n"
)
CALL = QUICK + "from nses.core.outer import outer; print(outer(1.0), len(outer.stats.cache_hits))"


@pytest.fixture
def package(tmp_path):
    """A copy of the package, with a compiled function that calls one of another file."""
    ignored = shutil.ignore_patterns("__pycache__", "experiment", "cli")
    shutil.copytree(SOURCE, tmp_path / "nses", ignore=ignored)
    (tmp_path / "nses" / "core" / "outer.py").write_text(OUTER)
    (tmp_path / "nses" / "core" / "inner.py").write_text(INNER.format(1))
    return tmp_path


def run(package, code, **environment):
    inherited = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment = {"PYTHONPATH": str(package), "XDG_CACHE_HOME": f"{package}/cache", **environment}
    argv = [sys.executable, "-P", "-B", "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, env=inherited | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_m7_a_changed_function_is_not_called_as_it_was(package):
    assert run(package, CALL) == "2.0 0\n"
    assert run(package, CALL) == "2.0 1\n"  # from the cache
    (package / "nses" / "core" / "inner.py").write_text(INNER.format(2))
    assert run(package, CALL) == "3.0 0\n"


def test_m7_compiled_code_uses_constants_and_functions_of_the_files_of_its_key_only():
    hashed = {*compiled.sources(), SOURCE / "errors.py"}  # of which Python alone makes use
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        if re.search(r"^@(compiled|intrinsic)", text, re.MULTILINE):
            modules = re.findall(r"^from (nses[.\w]+) import", text, re.MULTILINE)
            used = {SOURCE.parent / f"{module.replace('.', '/')}.py" for module in modules}
            assert used | {path} <= hashed


def test_m7_directories_that_nobody_used_for_more_than_30_days_are_removed(monkeypatch, tmp_path):
    now = int(time.time())
    monkeypatch.setattr(compiled, "time", SimpleNamespace(time=lambda: float(now)))
    for name, seconds in {"old": 1, "recent": 0}.items():
        (tmp_path / name).mkdir()
        used = now - 30 * 86_400 - seconds
        os.utime(tmp_path / name, (used, used))
    compiled.prepare(tmp_path / "new", own=True)
    assert {path.name for path in tmp_path.iterdir()} == {"recent", "new"}


def test_m7_the_key_is_a_short_name():
    assert re.fullmatch("[0-9a-f]{24}", compiled.key())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")
def test_m7_code_that_others_may_write_is_not_loaded(tmp_path):
    for directory in (tmp_path / "theirs", tmp_path / "shared"):
        directory.mkdir()
    os.chown(tmp_path / "theirs", 12345, 12345)
    (tmp_path / "shared").chmod(0o777)
    for name in ("theirs", "shared"):
        with pytest.raises(OSError, match="others"):
            compiled.prepare(tmp_path / name, own=True)


def test_m7_nobody_else_may_write_to_the_directories_above_either(tmp_path):
    (tmp_path / "nses").mkdir()
    (tmp_path / "nses").chmod(0o777)
    with pytest.raises(OSError, match=r"others may write to .*nses$"):
        compiled.prepare(tmp_path / "nses" / "compiled" / "key", own=True)
    compiled.prepare(tmp_path / "nses" / "compiled" / "key", own=False)


@pytest.mark.parametrize("chosen", [None, "somewhere"])
def test_m7_only_a_directory_that_the_user_has_chosen_may_be_shared(monkeypatch, chosen):
    if chosen:
        monkeypatch.setenv(compiled.CHOSEN, chosen)
    else:
        monkeypatch.delenv(compiled.CHOSEN, raising=False)
    asked = []
    monkeypatch.setattr(compiled, "prepare", lambda directory, own: asked.append(own))
    compiled.find()
    assert asked == [chosen is None]


def test_m6_the_temporary_directory_is_private(monkeypatch, tmp_path):
    monkeypatch.setattr(compiled.tempfile, "mkdtemp", lambda prefix: str(tmp_path))
    monkeypatch.setattr(compiled.atexit, "register", lambda *arguments: None)
    monkeypatch.setenv(compiled.CHOSEN, "restored afterwards")
    tmp_path.joinpath("nses").mkdir()
    tmp_path.joinpath("nses").chmod(0o777)
    with pytest.raises(OSError, match="others may write"):
        compiled._temporary("key")


def test_m6_a_temporary_directory_is_removed_by_the_process_that_made_it(tmp_path):
    made = tmp_path / "made"
    made.mkdir()
    compiled._remove(str(made), os.getpid() + 1)
    assert made.exists()
    for _ in range(2):  # the second time, it is gone already
        compiled._remove(str(made), os.getpid())
    assert not made.exists()


def test_compiled_functions_let_other_threads_run():
    @compiled.compiled
    def twice(x):
        return 2 * x

    assert twice(2.0) == 4.0
    assert twice.targetoptions["nogil"]


WHERE = QUICK + (
    "import os; from nses.core.outer import outer; from nses.core.compiled import CACHE\n"
    "assert outer(1.0) == 2.0; path = CACHE.directory\n"
    "print(path, oct(path.stat().st_mode) if path else '', len(list(path.rglob('*.nbc')))"
    " if path else 0, CACHE.why, sep=';')"
)


def nowhere(package):
    """Places that nobody can write to, not even root: /dev/null is no directory, nor is a file."""
    (package / "nses" / "core" / "__pycache__").write_text("")  # a package that is read only
    return {"XDG_CACHE_HOME": "/dev/null/cache", "HOME": "/dev/null"}


def test_m6_without_a_home_compiled_code_is_kept_in_a_private_temporary_directory(package):
    temporary = package / "tmp"
    temporary.mkdir()
    places = nowhere(package) | {"TMPDIR": str(temporary)}
    path, _, functions, why = run(package, WHERE, **places).strip().split(";")
    assert Path(path).is_relative_to(temporary)
    assert (int(functions), "/dev/null/cache" in why) == (2, True)
    assert not list(temporary.iterdir())  # it went with its process
    look = "print(oct(stat.S_IMODE(CACHE.directory.parents[2].stat().st_mode)))"
    assert "0o700" in run(package, f"{WHERE}\nimport stat; {look}", **places)


def test_m6_workers_share_the_temporary_directory_of_their_coordinator(package):
    temporary = package / "tmp"
    temporary.mkdir()
    code = (
        f"{WHERE}\nimport subprocess\n"
        f"subprocess.run([sys.executable, '-P', '-c', {WHERE!r}], check=True)"
    )
    mine, theirs = run(package, code, **nowhere(package), TMPDIR=str(temporary)).splitlines()
    assert mine.split(";")[0] == theirs.split(";")[0]


def test_m6_without_any_directory_nothing_is_kept(package):
    code = f"import tempfile; tempfile.tempdir = '/dev/null'\n{WHERE}"
    path, *_, why = run(package, code, **nowhere(package)).strip().split(";")
    assert (path, "/dev/null" in why) == ("None", True)


def test_m6_numba_s_own_setting_is_respected(package, tmp_path):
    path = run(package, WHERE, NUMBA_CACHE_DIR=str(tmp_path / "chosen")).split(";")[0]
    assert Path(path).is_relative_to(tmp_path / "chosen")
    assert not (package / "cache").exists()


def test_m6_a_new_directory_is_private(tmp_path):
    compiled.prepare(tmp_path / "a" / "b", own=True)
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_m6_doctor_says_why_nothing_is_kept(monkeypatch):
    from nses.experiment.doctor import CHECKS

    usual = CHECKS["compiled code"]("compiled code")
    assert "cached in" in usual.fact
    monkeypatch.setattr(compiled, "CACHE", compiled.Cache(None, "the moon is full"))
    finding = CHECKS["compiled code"]("compiled code")
    assert "the moon is full; set NUMBA_CACHE_DIR" in finding.fact
    assert not finding.remedy


LINEAR = """
import sys
import numpy as np
import nses
import nses.execution.playing
assert nses.novelty(np.zeros(2), np.ones((3, 2)), 2) == 2.0
print("scipy.linalg" in sys.modules)
import numba
from numba.np import arraymath
print(arraymath._HAVE_BLAS, numba.njit(lambda x: np.dot(x, x))(np.array([3.0, 4.0])))
"""


def test_linear_algebra_is_imported_only_where_somebody_compiles_it(package):
    assert run(package, LINEAR) == "False\nTrue 25.0\n"
