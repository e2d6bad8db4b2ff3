import csv
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from nses.core.algorithms import ALGORITHMS
from nses.errors import RunsFailed
from nses.execution.sharing import Board
from nses.experiment import fleet
from nses.experiment.fleet import Job, Place, Reached, reached
from nses.experiment.reproduce import View, _jobs, command, finished, reproduce, settings_from
from nses.experiment.runs.run import load
from nses.experiment.settings.config import changed
from nses.experiment.settings.recipes import recipe
from waiting import SOON, gone, wait_until

SMOKE = recipe("point-trap", "smoke", "es")


def words(directory):
    """`nses reproduce` of a small experiment."""
    arguments = ["reproduce", "point-trap", "--recipe", "smoke", "--runs", "1"]
    return [sys.executable, "-m", "nses", *arguments, "--directory", str(directory)]


@pytest.fixture
def start(launch):
    """The command in a session of its own."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return lambda directory: launch(words(directory), **streams)


def outcome(directory):
    """Exit code, stdout and stderr of the command."""
    done = subprocess.run(words(directory), capture_output=True, text=True, timeout=4 * SOON)
    return done.returncode, done.stdout, done.stderr


def wait_for_training(directory, process):
    """Until a run has trained a generation; gives the processes of the runs."""
    wait_until(
        lambda: any(reached(p.parent).generation for p in directory.rglob("metrics.jsonl")), process
    )
    return psutil.Process(process.pid).children()


def console_and_text(**settings):
    """A console, and what it was told."""
    text = io.StringIO()
    return Console(file=text, width=100, **settings), text


def started_again(directory):
    """What the same command prints, called in this process; its runs are programs, as ever."""
    console, text = console_and_text()
    reproduce(
        "point-trap", recipe="smoke", seeds=range(1), workers=None, directory=directory,
        console=console,
    )  # fmt: skip
    return text.getvalue()


def table(directory):
    home = directory / "point-trap"
    return [(home / name).read_bytes() for name in ("table.csv", "pairs.csv")]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A finished experiment: its directory and what was printed."""
    directory = tmp_path_factory.mktemp("reproduced")
    code, out, err = outcome(directory)
    assert (code, err) == (0, "")
    return directory, out


@pytest.mark.slow
def test_an_experiment_ends_in_a_table_a_picture_and_files(done):
    directory, out = done
    home = directory / "point-trap"
    assert all(out.count(f"\n {algorithm}  ") == 1 for algorithm in ALGORITHMS)
    assert " out" in out
    assert str(home / "report.html") in out
    assert f"{home / 'curves.png'}, " in out
    assert ", overhead.png (and .pdf)" in out
    assert "nses evaluate" in out
    assert (home / "overhead.png").read_bytes().startswith(b"\x89PNG")
    assert (home / "overhead.pdf").exists()
    document = json.loads((home / "comparison.json").read_text())
    rows = list(csv.DictReader(io.StringIO((home / "table.csv").read_text())))
    assert [row["label"] for row in rows] == list(ALGORITHMS)
    medians = [row["best_median"] for row in document["rows"]]
    assert [float(row["best_median"]) for row in rows] == medians
    for entry in document["runs"]:
        run = load(home / entry["algorithm"] / f"seed-{entry['seed']}")
        assert run.finished
        assert entry["best"] == run.best.score
        assert entry["retest"] == pytest.approx(sum(run.retest) / len(run.retest))


@pytest.mark.slow
def test_a_second_call_trains_nothing_and_gives_the_same_table(done, monkeypatch):
    directory, before = done[0], table(done[0])

    def refuse(job, workers):
        raise AssertionError(f"{job.name} was trained again")

    monkeypatch.setattr(fleet, "Child", refuse)
    assert "4 already done" in started_again(directory)
    assert table(directory) == before


@pytest.mark.slow
def test_killed_in_the_middle_and_started_again_it_gives_the_same_table(done, tmp_path, start):
    process = start(tmp_path)
    wait_for_training(tmp_path, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "point-trap" / "table.csv").exists()
    code, _, err = outcome(tmp_path)
    assert (code, err) == (0, "")
    assert table(tmp_path) == table(done[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_no_run_outlives_the_experiment_however_that_is_ended(signum, code, tmp_path, start):
    if signum == signal.SIGKILL and sys.platform != "linux":
        pytest.skip("only Linux ends a process whose parent was killed")
    process = start(tmp_path)
    children = wait_for_training(tmp_path, process)
    assert children
    os.kill(process.pid, signum)
    _, err = process.communicate(timeout=SOON)
    assert process.returncode == code
    if code > 0:
        assert "to continue: nses reproduce point-trap --recipe smoke --runs 1" in err
        assert f"stopped by {signum.name}" in err
        assert not any(child.is_running() for child in children)
    assert gone(children)


@pytest.mark.slow
def test_a_run_that_fails_is_reported_and_the_others_go_on(done, tmp_path):
    home = tmp_path / "point-trap"
    for name in ("es", "nsr-es"):  # are done already, which leaves less to train
        shutil.copytree(done[0] / "point-trap" / name, home / name)
    obstacle = home / "ns-es" / "seed-0"
    obstacle.parent.mkdir(parents=True)
    obstacle.write_text("in the way")
    code, out, err = outcome(tmp_path)
    assert code == 4  # that of the run
    assert "ns-es/seed-0 failed: exit code 4" in out
    assert "cannot write to the run directory" in out
    assert "1 of 4 runs failed: ns-es/seed-0 (exit code 4)" in err
    assert "to continue: nses reproduce point-trap --recipe smoke --runs 1" in err
    assert all(load(home / a / "seed-0").finished for a in ALGORITHMS if a != "ns-es")

    obstacle.unlink()
    assert "3 already done" in started_again(tmp_path)
    assert table(tmp_path) == table(done[0])


@pytest.mark.slow
def test_a_directory_with_other_settings_is_refused_before_anything_is_trained(done):
    with pytest.raises(ValueError, match=r"other settings:\n(.*\n)*  n: 100 given, 16 stored"):
        reproduce(
            "point-trap", recipe="laptop", seeds=range(1), workers=1, directory=done[0],
            console=Console(),
        )  # fmt: skip


@pytest.mark.slow
def test_a_run_with_another_distance_is_not_taken_for_ours(done):
    job = Job(SMOKE, done[0] / "point-trap" / "es" / "seed-0")
    assert finished(replace(job, config=replace(SMOKE, distance="squared-euclidean")))
    with pytest.raises(ValueError, match="distance: 'euclidean' given"):
        finished(replace(job, config=replace(SMOKE, distance="euclidean")))


@pytest.mark.slow
def test_a_run_that_was_trained_further_is_refused_since_that_would_be_unfair(done):
    job = Job(SMOKE, done[0] / "point-trap" / "es" / "seed-0")
    assert finished(job)
    with pytest.raises(ValueError, match="generations: 4 given, 5 stored"):
        finished(replace(job, config=replace(SMOKE, generations=4)))
    assert not finished(replace(job, config=replace(SMOKE, generations=6)))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seeds": range(0)}, "runs must be at least 1"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"experiment": "point-trop"}, "Did you mean point-trap"),
        ({"recipe": "cake"}, "recipe must be one of"),
        ({"side_by_side": 0}, "side_by_side must be at least 1"),
        ({"settings": {"seed": 3, "algorithm": "es"}}, "settings cannot change algorithm, seed"),
        ({"settings": {"sgima": 3}}, "did you mean 'sigma'"),
        ({"settings": {"members": 3}}, "es trains a single policy, so members must be 1, got 3"),
        (
            {"experiment": "point-trap-1.5", "settings": {"environment": {"half_width": 2}}},
            "settings cannot change environment: point-trap-1.5 is about it",
        ),
    ],
)
def test_wrong_arguments_are_explained_and_nothing_is_written(wrong, message, tmp_path):
    right = {"experiment": "point-trap", "recipe": "smoke", "seeds": range(1), "workers": None}
    with pytest.raises(ValueError, match=message):
        reproduce(**{**right, **wrong}, directory=tmp_path / "new", console=Console())  # type: ignore[arg-type]
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], Reached()),
        (['{"generation": 1, "best": 2.5}', '{"generation": 2, "best": 3.5}'], Reached(2, 3.5)),
        (['{"generation": 1, "best": null}'], Reached(1, None)),
        (['{"generation": 7, "best": 2.5}', '{"gap": [8, 9]}', '{"gener'], Reached(7, 2.5)),
        (['{"generation": 7, "best": 2.5, "selection": [' + "0.1, " * 20_000], Reached()),
    ],
)
def test_how_far_a_run_is_stands_in_its_last_whole_line(lines, expected, tmp_path):
    assert reached(tmp_path) == Reached()
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines))
    assert reached(tmp_path) == expected


def some_progress():
    jobs = [
        Job(recipe("point-trap", "smoke", algorithm), Path("nowhere") / algorithm / "seed-0")
        for algorithm in ("es", "ns-es")
    ]
    return dict(zip(jobs, (Reached(5, 3.25, True), Reached(2, -1.5)), strict=True))


def test_a_terminal_shows_a_row_per_algorithm_and_one_for_all():
    console, text = console_and_text(force_terminal=True, color_system=None)
    view = View(some_progress(), console)
    with view.live:
        view.update(some_progress())
    lines = text.getvalue().splitlines()
    for algorithm, runs, generations, best in (
        ("es", "1/1", "5/5", "3.25"), ("ns-es", "0/1", "2/5", "-1.5"),
        ("all", "1/2", "7/10", "starting"),
    ):  # fmt: skip
        line = next(line for line in lines if line.split()[:1] == [algorithm])
        assert line.split()[1:2] + line.split()[3:] == [runs, generations, best]


def test_elsewhere_there_is_a_line_now_and_then_and_nothing_in_between():
    console, text = console_and_text()
    start = {job: Reached() for job in some_progress()}
    view = View(start, console)
    view.update(some_progress())
    assert text.getvalue() == ""
    view.shown -= 11
    view.began -= 14
    view.update(some_progress())
    view.update(some_progress())
    assert text.getvalue() == ("1/2 runs, 7/10 generations, 0:06 left; best es 3.25, ns-es -1.5\n")


@pytest.mark.parametrize(("name", "shared"), [("paper", 50), ("laptop", 10), ("smoke", None)])
def test_the_weight_study_shares_its_runs_with_those_of_seaquest(name, shared):
    pytest.importorskip("ale_py", reason="needs the extra atari")
    game, study = (
        {job.directory: job.config for job in _jobs(x, name, range(2), Path("there"), {})}
        for x in ("atari:seaquest", "seaquest-weight")
    )
    same = {directory for directory in game if game[directory] == study.get(directory)}
    patience = {game[d].weight_patience for d in same if game[d].algorithm == "nsra-es"}
    assert len(same) == (6 if shared is None else 8)
    assert patience == ({shared} if shared else set())
    assert all(game[directory] == study[directory] for directory in game.keys() & study.keys())


def test_a_job_has_the_settings_of_its_run_in_its_place():
    config = changed(SMOKE, {"seed": 7, "n": 8, "deadline": 5.0, "tensorboard": False})
    job = Job(config, Path("there"))
    place = {"run_dir": "there", "pictures": False}
    assert job.settings(cpus=3) == replace(config, **place, workers=3)


@pytest.mark.parametrize(
    ("jobs", "side_by_side", "together"),
    [
        (4, 2, [2, 2, 2, 1]),
        (3, 8, [3, 2, 1]),
        (3, 1, [1, 1, 1]),
    ],
)
def test_the_fewer_runs_are_left_the_fewer_share_the_cpus(
    jobs, side_by_side, together, monkeypatch, tmp_path
):
    seen, looks = [], []

    class OneAfterTheOther:
        """Children of which one ends at every look, and sees how many share the CPUs."""

        def __init__(self, job, place, board):
            assert place.cpus == 8
            self.job, self.board, self.process = job, board, self

        def fault(self):
            if len(seen) > len(looks):
                return None
            seen.append(int(self.board.runs[0]))
            return ""

        def last_words(self):
            return []

        def close(self, end):
            pass

    monkeypatch.setattr(fleet, "Child", OneAfterTheOther)
    monkeypatch.setattr(fleet, "POLL_SECONDS", 0.0)
    progress = {Job(changed(SMOKE, {"seed": i}), tmp_path / str(i)): Reached() for i in range(jobs)}
    place = Place(side_by_side, cpus=8)
    fleet.train_all(list(progress), progress, place, looks.append, Console())
    assert seen == together


def test_p10_no_more_runs_are_started_on_a_cluster_that_is_gone(monkeypatch, tmp_path):
    started = []

    class Headless:
        """A run that has lost the head of its cluster."""

        returncode = 5

        def __init__(self, job, place, board):
            self.job, self.process = job, self
            started.append(job)

        def fault(self):
            return "exit code 5"

        def last_words(self):
            return []

        def close(self, end):
            pass

    monkeypatch.setattr(fleet, "Child", Headless)
    monkeypatch.setattr(fleet, "POLL_SECONDS", 0.0)
    progress = {Job(changed(SMOKE, {"seed": i}), tmp_path / str(i)): Reached() for i in range(5)}
    console, text = console_and_text()
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
    place = Place(2, cpus=8, cluster=f"{host}:{port}")  # nobody listens there any more
    with pytest.raises(RunsFailed, match="2 of 5 runs failed") as info:
        fleet.train_all(list(progress), progress, place, lambda _: None, console)
    assert info.value.exit_code == 5
    assert len(started) == 2
    assert "does not answer any more: 3 more runs are not started" in text.getvalue()


def test_settings_are_names_and_values():
    assert settings_from(["n=50", "behavior=final-observation:0", "hidden=[3, 4]"]) == {
        "n": 50, "behavior": "final-observation:0", "hidden": [3, 4],
    }  # fmt: skip
    with pytest.raises(ValueError, match="NAME=VALUE"):
        settings_from(["n"])


def test_the_command_to_continue_can_be_pasted_into_a_shell():
    assert command("ALE/Pong-v5", "paper", range(3, 5), Path("my runs"), {"n": 8}, True) == (
        "nses reproduce ALE/Pong-v5 --recipe paper --runs 2 --seed 3 --directory 'my runs' --paper "
        "--settings n=8"
    )


def test_l11_a_run_killed_by_a_real_time_signal_is_reported(tmp_path):
    job = Job(recipe("point-trap", "smoke", "es"), tmp_path / "run")
    with closing(Board()) as board:
        child = fleet.Child(job, Place(1, cpus=1), board)
    child.process.send_signal(signal.SIGRTMIN + 3)
    child.process.wait(60)
    assert child.fault() == "killed by SIGRTMIN+3"
    child.close(end=0.0)
