"""Networks of every kind through all that can be done with a run, from the command line."""

import json
import os
import sys
from pathlib import Path

import pytest

import nses
from commands import PLAIN, call

EXAMPLES = Path(__file__).parents[2] / "examples"
KINDS = {
    "own": ["--policy-class", "networks:Echo"],
    "gru": ["--network", "gru", "--hidden", "3", "4"],
    "torch": ["--policy-class", "torch_networks:Net"],
    "torch with a state": ["--policy-class", "torch_networks:Remembers"],
}
SHORT = ["--recipe", "smoke", "--seed", "1", "--n", "4"]


@pytest.fixture(params=KINDS)
def kind(request):
    if "torch" in request.param:
        pytest.importorskip("torch", reason="needs the extra torch")
    return request.param


def test_every_kind_gives_the_same_bits_however_it_is_trained_and_used(kind, capsys, tmp_path):
    """One test, because every step needs the runs of the others."""
    words = ["train", "point", "--max-steps", "20", *SHORT, *KINDS[kind]]
    serial, halves, two = (str(tmp_path / name) for name in ("serial", "halves", "two"))
    assert call(capsys, *words, *PLAIN, "--generations", "4", "--run-dir", serial)[0] == 0
    run = nses.load(serial)
    assert run.own_policy == ""  # it is found by its name, from both sides

    assert call(capsys, *words, *PLAIN, "--generations", "2", "--run-dir", halves)[0] == 0
    assert call(capsys, "resume", halves, "--generations", "4")[0] == 0
    assert nses.load(halves).digest == run.digest
    workers = ["--workers", "2", "--no-tensorboard", "--no-pictures"]
    assert call(capsys, *words, *workers, "--generations", "4", "--run-dir", two)[0] == 0
    assert nses.load(two).digest == run.digest

    for which in (["--candidate", "3"], []):
        code, out, _ = call(capsys, "replay", serial, "--generation", "3", *which, "--json")
        assert (code, json.loads(out)["same bits"]) == (0, True)
    code, out, _ = call(capsys, "evaluate", serial, "--episodes", "3", "--json")
    assert code == 0
    assert json.loads(out)["returns"] == nses.evaluate(serial, episodes=3).returns.tolist()


def test_every_kind_is_filmed(kind, capsys, tmp_path):
    pytest.importorskip("imageio_ffmpeg", reason="needs the extra video")
    words = ["train", "point", *SHORT, "--generations", "1", "--max-steps", "5"]
    assert call(capsys, *words, *KINDS[kind], *PLAIN, "--run-dir", str(tmp_path / "run"))[0] == 0
    assert call(capsys, "render", str(tmp_path / "run"))[0] == 0
    assert (tmp_path / "run" / "best.mp4").stat().st_size > 0


@pytest.mark.slow
def test_a_gru_recalls_what_an_mlp_cannot(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    scores = {}
    for network in ("gru", "mlp"):
        run = nses.train(
            "memory:Recall",
            algorithm="es",
            network=network,
            hidden=(8,),
            behavior="final:answer",
            max_steps=20,
            generations=80,
            n=100,
            evaluation_episodes=10,
            sigma=0.1,
            lr=0.05,
            backend="serial",
            tensorboard=False,
            run_dir=tmp_path / network,
        )
        scores[network] = nses.evaluate(run, episodes=200).returns.mean()
    assert scores["gru"] > 0.9
    assert abs(scores["mlp"]) < 0.2


def test_a_class_passed_in_python_is_recorded_by_its_name(tmp_path):
    from networks import Echo

    settings = {"recipe": "smoke", "backend": "serial", "tensorboard": False, "n": 4}
    run = nses.train("point", policy=Echo, run_dir=tmp_path / "run", generations=1, **settings)
    assert (run.config.policy_class, run.own_policy) == ("networks:Echo", "")
    assert run.policy()([0.0] * 6).shape == (2,)
    assert nses.resume(run.path, policy=Echo, generations=2).state.generation == 2

    class Local(Echo):
        """Cannot be imported by its name."""

    other = nses.train("point", policy=Local, run_dir=tmp_path / "b", generations=1, **settings)
    assert other.config.policy_class is None
    assert other.own_policy.endswith("Local")
    with pytest.raises(ValueError, match=r"nses\.load\(run_dir, policy=\.\.\.\)"):
        nses.load(other.path).policy()
    assert nses.load(other.path, policy=Local).policy()([0.0] * 6).shape == (2,)
    with pytest.raises(ValueError, match="either policy or policy_class"):
        nses.train("point", policy=Local, policy_class="networks:Echo", **settings)


def test_the_other_network_is_another_run(tmp_path):
    settings = {"recipe": "smoke", "backend": "serial", "tensorboard": False, "n": 4}
    settings |= {"generations": 1, "run_dir": tmp_path / "run"}
    nses.train("point", policy_class="networks:Echo", **settings)
    with pytest.raises(nses.errors.CheckpointRefused, match="policy_class: 'networks:by_chance'"):
        nses.train("point", policy_class="networks:by_chance", **settings)
    with pytest.raises(nses.errors.CheckpointRefused, match="policy_class: None given"):
        nses.train("point", network="gru", **settings)
    settings["run_dir"] = tmp_path / "gru"
    nses.train("point", network="gru", **settings)
    with pytest.raises(nses.errors.CheckpointRefused, match="network: 'auto' given, 'gru' stored"):
        nses.train("point", **settings)


def test_a_run_whose_network_is_gone_says_so_and_shows_its_numbers(tmp_path, monkeypatch):
    (tmp_path / "vanishing.py").write_text("from networks import Echo\n")
    monkeypatch.syspath_prepend(tmp_path)
    settings = {"recipe": "smoke", "backend": "serial", "tensorboard": False, "n": 4}
    run = nses.train("point", policy_class="vanishing:Echo", run_dir=tmp_path / "run", **settings)
    os.remove(tmp_path / "vanishing.py")
    monkeypatch.delitem(sys.modules, "vanishing")
    assert nses.load(run.path).metrics
    with pytest.raises(ValueError, match="cannot load policy class 'vanishing:Echo'"):
        nses.evaluate(run.path, episodes=1)
    assert nses.load(run.path, policy="networks:Echo").policy()([0.0] * 6).shape == (2,)


def test_looking_at_a_run_imports_no_network_unless_it_is_named(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("from networks import Echo\n")
    monkeypatch.syspath_prepend(tmp_path)
    settings = {"recipe": "smoke", "backend": "serial", "tensorboard": False, "n": 4}
    run = nses.train("point", policy="mine:Echo", run_dir=tmp_path / "run", **settings)
    assert (run.config.policy_class, run.own_policy) == ("mine:Echo", "")
    monkeypatch.delitem(sys.modules, "mine")
    loaded = nses.load(run.path)
    with pytest.raises(ValueError, match=r"nses\.load\('.*run', policy='mine:Echo'\)"):
        loaded.policy()
    assert "mine" not in sys.modules
    assert nses.load(run.path, policy="mine:Echo").policy().theta.size == 12


def test_a_finished_torch_module_is_passed_as_an_object_and_passed_again(tmp_path):
    pytest.importorskip("torch", reason="needs the extra torch")
    from torch_networks import Net

    settings = {"recipe": "smoke", "backend": "serial", "tensorboard": False, "n": 4}
    runs = [
        nses.train("point", policy=policy, run_dir=tmp_path / str(i), generations=2, **settings)
        for i, policy in enumerate((Net(6, 2), nses.TorchPolicy(Net(6, 2))))
    ]
    assert runs[0].digest == runs[1].digest  # what the parameters were before does not matter
    assert runs[0].own_policy.endswith("torch_networks.Net")
    assert runs[0].versions["torch"]
    with pytest.raises(ValueError, match=r"torch_networks\.Net.*passed again"):
        nses.load(runs[0].path).policy()
    loaded = nses.load(runs[0].path, policy=Net(6, 2))
    assert loaded.policy()([0.0] * 6).shape == (2,)
    assert nses.resume(loaded.path, policy=Net(6, 2), generations=3).state.generation == 3
