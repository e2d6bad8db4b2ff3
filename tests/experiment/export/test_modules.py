"""Torch modules as ONNX files."""

import pytest

from exported import train
from nses.experiment.export.onnx import export

pytest.importorskip("onnxruntime", reason="needs the extra onnx")
torch = pytest.importorskip("torch", reason="needs the extra torch")

SHORT = {"n": 4, "generations": 1, "max_steps": 10}


def test_a_module_acts_the_same_as_a_file(tmp_path):
    run = train("point", tmp_path, policy_class="torch_networks:Net", **SHORT)
    exported = export(run)
    assert exported.difference < 1e-5
    assert "torch_networks:Net" in exported.card.read_text()


def test_a_module_with_a_state_is_refused_with_the_way_out(tmp_path):
    run = train("point", tmp_path, policy_class="torch_networks:Remembers", **SHORT)
    with pytest.raises(ValueError, match=r"with a state cannot be exported.*torch\.onnx\.export"):
        export(run)


def test_a_module_that_remembers_inside_is_refused_because_the_file_would_not(tmp_path):
    run = train("point", tmp_path, policy_class="torch_networks:RemembersInside", **SHORT)
    with pytest.raises(ValueError, match=r"does not act like|torch cannot export|cannot run"):
        export(run)
    assert not (run.path / "policy.onnx").exists()
