"""The command line as a person meets it: exit codes, messages, help, progress."""

import json
import os
import pty
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nses
import troubled
from nses.cli import COMMANDS, main

PLAIN = ["--backend", "serial", "--no-tensorboard", "--no-pictures"]
SMOKE = ["--recipe", "smoke", *PLAIN, "--seed", "1"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def call(capsys, *arguments):
    """Exit code, standard output and standard error of a command."""
    try:
        code = main([*arguments])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def run_dir(capsys):
    assert call(capsys, "train", "point-trap", *SMOKE)[0] == 0
    return "runs/point-trap/nsra-es/seed-1"


def test_a_bare_nses_and_help_explain_all_commands(capsys):
    bare, helped = call(capsys), call(capsys, "--help")
    assert bare == helped
    assert bare[0] == 0
    for command in COMMANDS:
        assert f"nses {command}" in bare[1]


def test_every_command_is_a_file_of_its_name_and_nothing_else_is():
    files = {path.stem for path in Path(nses.__file__).with_name("cli").glob("*.py")}
    assert files == {*COMMANDS, "__init__", "arguments"}


def test_help_answers_at_once_without_loading_the_simulators():
    argv = [sys.executable, "-X", "importtime", "-m", "nses", "--help"]
    imported = subprocess.run(argv, capture_output=True, text=True, check=True).stderr
    for heavy in ("numpy", "numba", "gymnasium", "rich", "tyro"):
        assert f"| {heavy}\n" not in imported.replace(" ", "").replace("|", "| ")
    best = min(_cpu_seconds([sys.executable, "-m", "nses", "--help"]) for _ in range(3))
    assert best < 0.5


def _cpu_seconds(argv):
    """Processor time, which other programs do not take away."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_has_help(capsys, command):
    code, out, _ = call(capsys, command, "--help")
    assert code == 0
    assert f"usage: nses {command}" in out


def test_help_for_a_task_shows_the_values_of_its_recipe(capsys):
    text = call(capsys, "train", "point-trap", "--recipe", "laptop", "--help")[1]
    assert "TASK" in text
    shown = re.sub(r"[│\s]+", " ", text)
    assert "in all. (default: 500)" in shown
    assert "{None}" not in shown


def test_an_unknown_command_names_the_closest(capsys):
    code, _, err = call(capsys, "trian")
    assert code == 2
    assert "Did you mean 'train'?" in err


def test_train_says_where_everything_is_and_what_comes_next(capsys):
    code, out, _ = call(capsys, "train", "point-trap", *SMOKE)
    assert code == 0
    assert "runs/point-trap/nsra-es/seed-1" in out
    assert "nses evaluate runs/point-trap/nsra-es/seed-1" in out
    assert "fresh episodes" in re.sub(r"\s+", " ", out)
    assert re.search(r"generation 5/5 .*best .*mean .*w .*novelty .*steps/s.*left", out)


def test_train_needs_a_task(capsys):
    code, _, err = call(capsys, "train")
    assert code == 2
    assert "nses tasks" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--n", "7", "--sigma", "-1"], r"n must be even.*try n=8(.|\n)*sigma must be greater"),
        (["--seed", "x"], "seed"),
        (["--sgima", "0.1"], "sigma"),
        (["--behavior", "final:z"], "info has no key 'z'.*its keys are: x, y"),
        (["--behavior", "where"], "behavior must be"),
        (["--environment", "half_width=0.1"], "half_width must lie between"),
        (["--environment", "nonsense=1"], "nonsense"),
    ],
)
def test_e22_wrong_settings_exit_with_2_and_say_what_to_do(capsys, arguments, message):
    code, out, err = call(capsys, "train", "point-trap", *arguments)
    assert code == 2
    assert re.search(message, out + err)
    assert not Path("runs").exists() or not list(Path("runs").rglob("metrics.jsonl"))


def test_a_module_of_the_current_directory_is_found(tmp_path):
    (tmp_path / "mine.py").write_text("from troubled import Calm as Mine\n")
    (tmp_path / "troubled.py").write_text(Path(troubled.__file__).read_text())
    nses_command = Path(sys.executable).parent / "nses"
    argv = [nses_command, "train", "mine:Mine", "--max-steps", "5", *SMOKE[:2], "--workers", "1"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_bug_is_called_one_with_its_traceback_and_how_to_go_on(capsys, monkeypatch):
    def broken(*_):
        raise LookupError("lost")

    monkeypatch.setattr("nses.core.algorithms.objective", broken)
    code, _, err = call(capsys, "train", "point-trap", *SMOKE)
    assert code == 1
    assert "Traceback" in err
    assert "this is a bug of ours" in err
    assert "nses resume runs/point-trap/nsra-es/seed-1" in err


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("CartPole-v9", r"CartPole-v1"),
        ("point-trp", r"point-trap"),
        ("troubled:Nothing", "cannot load task"),
        ("no_such_module:Env", "cannot load task"),
        ("../x", "a task is named by"),
        ("/etc/passwd", "a task is named by"),
        ("a\0b", "a task is named by"),
        ("x" * 300, "at most 200 letters"),
        ("troubled:Endless", "--max-steps"),
    ],
)
def test_e7_e18_s11_an_unknown_task_exits_with_2_and_a_hint(capsys, task, message):
    code, _, err = call(capsys, "train", task, "--recipe", "smoke")
    assert code == 2
    assert re.search(message, err)


def test_e6_an_unsupported_space_is_named(capsys):
    code, _, err = call(capsys, "train", "troubled:Strange", "--max-steps", "5")
    assert code == 2
    assert "Text(" in err


def test_e3_an_environment_that_raises_exits_with_2_and_its_traceback(capsys):
    code, _, err = call(capsys, "train", "troubled:Raising", "--max-steps", "5", *SMOKE)
    assert code == 2
    assert "the motor is on fire" in err


def test_e1_too_many_failures_exit_with_5_and_the_command_that_resumes(capsys):
    arguments = ["--max-steps", "10", "--n", "40", "--generations", "50", "--run-dir", "r"]
    code, _, err = call(capsys, "train", "troubled:SometimesUnpaid", *SMOKE, *arguments)
    assert code == 5
    assert "nses resume r" in err


def test_e2_an_update_that_is_not_finite_exits_with_1(capsys):
    bad = ["--lr", "1e38", "--optimizer", "sgd", "--sigma", "0.001", "--generations", "50"]
    code, _, err = call(capsys, "train", "point-trap", *SMOKE, *bad)
    assert code == 1
    assert "last good checkpoint" in err


def test_s3_a_directory_that_cannot_be_written_exits_with_4(capsys):
    Path("file").write_text("")
    code, _, err = call(capsys, "train", "point-trap", *SMOKE, "--run-dir", "file/run")
    assert code == 4
    assert "cannot write" in err


def test_s8_another_run_in_the_directory_exits_with_3_and_the_differences(capsys, run_dir):
    code, _, err = call(capsys, "train", "point-trap", *SMOKE, "--sigma", "0.5")
    assert code == 3
    assert "sigma: 0.5 here, 0.02 there" in err


def test_s5_a_run_without_a_valid_checkpoint_exits_with_3(capsys, run_dir):
    for file in Path(run_dir).rglob("state.safetensors"):
        file.write_bytes(b"x" + file.read_bytes()[1:])
    code, _, err = call(capsys, "resume", run_dir, "--generations", "6")
    assert code == 3
    assert "valid checkpoint" in err


def test_s7_a_run_of_a_newer_format_exits_with_3(capsys, run_dir):
    file = Path(run_dir, "config.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 99}))
    code, _, err = call(capsys, "info", run_dir)
    assert code == 3
    assert "install a newer one" in err


def test_s12_a_second_run_in_one_directory_exits_with_2_naming_the_first(capsys, run_dir):
    holder = (
        "import sys, time; from pathlib import Path; from nses.experiment.runs.storage import *\n"
        f"with DirectoryLock(Path({run_dir!r})): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder], stdout=subprocess.PIPE, text=True
    ) as held:
        assert held.stdout is not None
        held.stdout.readline()
        code, _, err = call(capsys, "resume", run_dir, "--generations", "6")
        held.kill()
    assert code == 2
    assert str(held.pid) in err


def test_resume_extends_a_run_exactly(capsys, run_dir):
    assert call(capsys, "resume", run_dir, "--generations", "8")[0] == 0
    assert (
        call(capsys, "train", "point-trap", *SMOKE, "--generations", "8", "--run-dir", "w")[0] == 0
    )
    assert nses.load(run_dir).digest == nses.load("w").digest


def test_a_directory_that_is_no_run_exits_with_2(capsys):
    for command in ("resume", "evaluate", "info"):
        code, _, err = call(capsys, command, "nowhere")
        assert code == 2
        assert "is not a run" in err


def test_evaluate_prints_a_line_or_json(capsys, run_dir):
    code, out, _ = call(capsys, "evaluate", run_dir, "--episodes", "4")
    assert code == 0
    assert "over 4 fresh episodes" in out
    code, out, _ = call(
        capsys, "evaluate", run_dir, "--episodes", "4", "--json", "--policy", "final"
    )
    result = json.loads(out)
    assert len(result["returns"]) == len(result["lengths"]) == len(result["behaviors"]) == 4
    assert result["mean"] == pytest.approx(sum(result["returns"]) / 4)
    again = json.loads(
        call(capsys, "evaluate", run_dir, "--episodes", "4", "--json", "--policy", "final")[1]
    )
    assert again == result


def test_evaluate_refuses_a_policy_that_is_not_there(capsys, run_dir):
    code, _, err = call(capsys, "evaluate", run_dir, "--policy", "member:7")
    assert code == 2
    assert "member:0 to member:1" in err


def test_train_ends_with_pictures_and_a_page_unless_told_not_to(capsys, run_dir):
    names = ("curve.png", "curve.pdf", "overhead.png", "report.html")
    assert not any((Path(run_dir) / name).exists() for name in names)
    call(capsys, "train", "point-trap", *SMOKE, "--pictures", "--run-dir", "shown")
    assert all((Path("shown") / name).exists() for name in names)


@pytest.mark.parametrize(
    "lost", ["curve.png", "overhead.pdf", "report.html", "the end of the page"]
)
def test_m1_resume_draws_the_pictures_that_a_run_did_not_come_to(capsys, monkeypatch, lost):
    drawn = []

    def draw(run):
        drawn.append(run)
        for name in ("curve.png", "curve.pdf", "overhead.png", "overhead.pdf", "report.html"):
            (run.path / name).touch()

    monkeypatch.setattr("nses.experiment.showing.publish.draw_run", draw)
    flags = [*SMOKE, "--generations", "1", "--pictures", "--run-dir", "shown"]
    assert call(capsys, "train", "point-trap", *flags)[0] == 0
    assert call(capsys, "resume", "shown")[0] == 0
    assert len(drawn) == 1  # nothing was missing
    if lost == "the end of the page":  # of a run that was extended: that of its first end
        os.utime("shown/report.html", (0, 0))
    else:
        Path("shown", lost).unlink()
    code, out, _ = call(capsys, "resume", "shown")
    assert code == 0
    assert "nothing to train" in out
    assert len(drawn) == 2


def test_h2_evaluate_says_on_standard_error_what_it_used(capsys, run_dir):
    whole = json.loads(call(capsys, "evaluate", run_dir, "--episodes", "3", "--json")[1])
    file = Path(run_dir, "checkpoints", "000005", "state.safetensors")
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    argv = [sys.executable, "-m", "nses", "evaluate", run_dir, "--episodes", "3", "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == whole
    said = " ".join(done.stderr.split())
    assert said.count("Checkpoint 000005 was refused") == 1
    assert said.count("best.safetensors of generation 5 is used instead") == 1


@pytest.mark.parametrize("command", ["resume", "train"])
def test_h3_a_run_whose_checkpoints_are_gone_exits_with_3_and_what_to_do(capsys, run_dir, command):
    shutil.rmtree(Path(run_dir, "checkpoints"))
    words = ["resume", run_dir] if command == "resume" else ["train", "point-trap", *SMOKE]
    code, _, err = call(capsys, *words)
    assert code == 3
    assert "metrics.jsonl" in err
    assert "another --run-dir" in err
    assert call(capsys, "info", run_dir)[0] == 0


def test_replay_plays_a_candidate_again_and_says_that_the_bits_are_the_same(capsys, run_dir):
    code, out, _ = call(capsys, "replay", run_dir, "--generation", "3", "--candidate", "5")
    assert code == 0
    assert re.search(r"policy +generation:3:candidate:5", out)
    assert re.search(r"same bits +true", out)
    facts = json.loads(call(capsys, "replay", run_dir, "--generation", "3", "--json")[1])
    assert facts["mean return"] == facts["logged"]


def test_replay_that_does_not_give_the_logged_return_fails(capsys, run_dir):
    history = Path(run_dir) / "history.jsonl"
    lines = [json.loads(line) for line in history.read_text().splitlines()]
    lines[2]["f"] = lines[1]["f"]  # another generation's
    del lines[2]["sha256"]  # as in runs that are older than this seal
    history.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, err = call(capsys, "replay", run_dir, "--generation", "3", "--candidate", "5")
    assert code == 1
    assert "begun with python" in err
    assert re.search(r"same bits +false", out)


def test_compare_of_one_run_makes_its_page_and_of_several_one_for_all(capsys, run_dir):
    code, out, _ = call(capsys, "compare", run_dir)
    assert code == 0
    assert f"{run_dir}/report.html" in out
    assert Path(run_dir, "report.html").exists()
    assert Path(run_dir, "comparison/table.csv").exists()
    call(capsys, "train", "point-trap", *SMOKE, "--algorithm", "es")
    code, out, _ = call(capsys, "compare", "runs", "--paper")
    assert code == 0
    assert "es against nsra-es" in out
    assert "quoted from" in out
    assert Path("runs/report.html").exists()


def test_compare_needs_runs(capsys, tmp_path):
    code, _, err = call(capsys, "compare", str(tmp_path))
    assert code == 2
    assert "holds no run" in err
    assert call(capsys, "compare")[0] == 2


def test_info_tells_what_a_run_is(capsys, run_dir):
    code, out, _ = call(capsys, "info", run_dir)
    assert code == 0
    assert nses.load(run_dir).digest in re.sub(r"\s", "", out)
    facts = json.loads(call(capsys, "info", run_dir, "--json")[1])
    assert (facts["task"], facts["generation"]) == ("point-trap", "5 of 5, finished")


def test_tasks_lists_what_comes_along(capsys):
    code, out, _ = call(capsys, "tasks")
    assert code == 0
    assert "point-trap" in out
    assert "atari:GAME" in out
    assert "nses train CartPole-v1" in out


def test_estimate_tells_time_and_memory(capsys):
    code, out, _ = call(capsys, "estimate", "point-trap", "--workers", "4")
    assert code == 0
    assert "418 parameters" in out
    assert "52,555" in out
    assert re.search(r"memory\s+[\d.]+ GB", out)


def test_doctor_finds_this_machine_ready(capsys):
    code, out, _ = call(capsys, "doctor")
    assert code == 0, out
    assert "and with 2 workers" in re.sub(r"\s+", " ", out)
    assert "ready" in out


def test_output_that_is_not_wanted_any_more_ends_the_command_quietly():
    argv = f"{sys.executable} -m nses tasks | head -c 1"
    done = subprocess.run(["sh", "-c", argv], capture_output=True, text=True)
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_terminal_shows_a_progress_bar():
    leader, follower = pty.openpty()
    argv = [sys.executable, "-m", "nses", "train", "point-trap", *SMOKE, "--generations", "40"]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "150"}
    with subprocess.Popen(argv, stdout=follower, stderr=follower, env=environment) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                shown += os.read(leader, 4096)
            except OSError:
                break
        assert process.wait() == 0
    os.close(leader)
    text = shown.decode()
    assert "━" in text
    assert "40/40" in text
    assert "steps/s" in text
    assert "nses evaluate" in text
