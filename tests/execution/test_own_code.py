"""A user's own modules, imported where their files are not."""

import subprocess
import sys
from pathlib import Path

import pytest

from nses.execution import own_code
from nses.execution.own_code import own_sources

READ = """
import pickle, sys
from pathlib import Path
from nses.execution.own_code import install, installed

sources = pickle.loads(Path(sys.argv[1]).read_bytes())
install(sources)
import my_task_alone, my_package.inner
assert my_task_alone.VALUE == 7, my_task_alone
assert my_package.inner.late() == 11
assert installed() == sources
print(my_task_alone.__file__)
"""


@pytest.fixture
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "mine"
    (folder / "my_package").mkdir(parents=True)
    (folder / "my_task_alone.py").write_text("VALUE = 7\n")
    (folder / "my_package" / "__init__.py").write_text("")
    (folder / "my_package" / "inner.py").write_text(
        "def late():\n    from my_package.deep import VALUE\n    return VALUE\n"
    )
    (folder / "my_package" / "deep.py").write_text("VALUE = 11\n")
    monkeypatch.syspath_prepend(folder)
    for name in ("my_task_alone", "my_package", "my_package.inner"):
        __import__(name)
        monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, name, __import__(name, fromlist=["x"]))
    return folder


def test_own_modules_are_imported_elsewhere_with_what_else_is_in_their_packages(
    own_modules: Path, tmp_path: Path
):
    import pickle

    file = tmp_path / "sources"
    file.write_bytes(pickle.dumps(own_sources()))
    done = subprocess.run(
        [sys.executable, "-c", READ, str(file)],
        cwd=tmp_path, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == str(own_modules / "my_task_alone.py")


def test_what_is_installed_and_our_own_package_stay_where_they_are(own_modules: Path):
    names = set(own_sources())
    assert {"my_task_alone", "my_package", "my_package.inner", "my_package.deep"} <= names
    roots = {name.partition(".")[0] for name in names}
    assert roots.isdisjoint({"nses", "numpy", "pytest", "gymnasium", "os", "__main__"})


def test_too_much_code_is_not_sent(own_modules: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(own_code, "MOST_BYTES", 5)
    assert own_sources() == {}
