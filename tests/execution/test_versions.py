"""What a result depends on besides its settings."""

import hashlib
import platform
from pathlib import Path

import numpy as np

from nses.execution import versions as module
from nses.execution.versions import PLAYING, PROTOCOL, code_of, cpu_model, current_versions


def test_versions_name_the_packages_the_interpreter_and_the_processor():
    versions = current_versions()
    assert versions["numpy"] == np.__version__
    assert versions["python"] == platform.python_version()
    assert versions["cpu"] == cpu_model() != ""


def test_p11_other_code_under_the_same_version_is_seen_by_file(tmp_path, monkeypatch):
    code = code_of(PROTOCOL)
    itself = hashlib.sha256(Path(module.__file__).read_bytes()).hexdigest()
    assert itself.startswith(code["execution/versions.py"])
    assert {"core/noise.py", "rollouts/episode.py"} <= code_of(PLAYING).keys()
    (tmp_path / "execution").mkdir()
    (tmp_path / "execution" / "versions.py").write_text("other code")
    monkeypatch.setattr(module, "PACKAGE", tmp_path)
    assert code_of(PROTOCOL)["execution/versions.py"] != code["execution/versions.py"]
