"""Command lines that nobody would type, drawn from a random generator.

They do little and stay in the current directory: no word is an absolute path that can be written
to, and flags at the end of the line cut training short.
"""

from dataclasses import fields
from random import Random

from nses.cli import COMMANDS
from nses.experiment.settings.config import Config

RUNS = ["run", "stopped", "missing", "file.txt", "run/config.json", ".", "run/../run", "loop", ""]
TASKS = [
    "point-trap", "CartPole-v1", "Pendulum-v1", "NSES/PointTrap-v0", "Nope-v0", "ALE/Nope-v5",
    "atari:nope", "atari:", "math:pi", "math:sqrt", "gymnasium:Env", "nses:Task", "json:loads",
    "nowhere.module:x", "a:", ":b", ":", "a:b:c", "point-trap\n", "Point-Trap", "任务", "a/../b",
]  # fmt: skip
ODD = [
    "", " ", "-", "--", "---", "=", "-1", "0", "1", "3", "1.5", "-0.0", "nan", "inf", "-inf",
    "1e400", "1e-400", "0x10", "1_000", "٣", "1099511627776", "9223372036854775808",
    "-9223372036854775809", "9" * 400, "9" * 5000, "true", "None", "null", "[]", "{}", "[[[",
    "a=1", "a=[[[", "a=" + "[" * 5000, "=1", "a b=1", "class=1", "render_mode=human", "n=3",
    "seed=x", "../x", "x/../../x", "~", "/dev/null", "/dev/full", "/dev/null/x",
    "/proc/nowhere/x", "a" * 300, "a" * 5000, "a/" * 3000, "\x1b[31m", "\udcff", "\n", "任务",
    "$HOME", "%s", "{0}", "[bold]", "[/x]", "@file.txt", "*", "best", "final", "member:0",
    "member:-1", "member:99", "member:", "generation:1", "generation:0", "generation:99",
    "generation:-1", "generation:1:candidate:99", "generation:1:candidate:1:x", "generation:²",
    "final:x", "final-observation:0", "final-observation:99", "final-observation:-1",
    "final-observation:", "mean:", "trajectory:x", "trajectory-observation:0", "es", "NSRA-ES",
    "adam", "serial", "tanh", "smoke", "-h", "--help", "-x", "--no-such-flag", "--n=",
    "--seed=-1",
]  # fmt: skip
FLAGS = {
    "train": [
        f"--{field.name.replace('_', '-')}" for field in fields(Config) if field.name != "task"
    ]
    + ["--no-normalize", "--no-native", "--weight-per-member"],
    "resume": ["--generations", "--workers", "--backend", "--deadline", "--checkpoint-seconds"],
    "evaluate": ["--policy", "--episodes", "--seed", "--json"],
    "replay": ["--generation", "--candidate", "--member", "--json"],
    "render": ["--policy", "--seed", "--grid", "--output", "--fps", "--max-steps"],
    "compare": ["--output", "--paper"],
    "export": ["--policy", "--output"],
    "reproduce": [
        "--recipe",
        "--seed",
        "--workers",
        "--side-by-side",
        "--directory",
        "--paper",
        "--settings",
    ],
    "watch": ["--port", "--interval"],
    "check": ["--behavior", "--max-steps", "--environment", "--deadline"],
    "info": ["--json"],
}
SHORT = {
    "--recipe": "smoke", "--generations": "1", "--n": "2", "--members": "1", "--max-steps": "5",
    "--evaluation-episodes": "1", "--retest-episodes": "1", "--backend": "serial", "--hidden": "3",
}  # fmt: skip
TAILS = {
    "train": SHORT,
    "estimate": SHORT,
    "resume": {"--backend": "serial"},
    "evaluate": {"--episodes": "1"},
    "replay": {"--generation": "1"},
    "render": {"--max-steps": "3", "--episodes": "1"},
    "reproduce": {"--runs": "0", "--recipe": "smoke"},
    "watch": {"--port": "0"},
    "check": {"--max-steps": "5"},
}
WEIGHTS = {
    "train": 6, "resume": 3, "doctor": 0.1, "tasks": 0.3, "estimate": 0.3, "render": 0.5,
    "check": 0.5, "reproduce": 1, "compare": 0.7, "watch": 0.5, "export": 0.7,
}  # fmt: skip


def words(rng: Random) -> list[str]:
    """A command line."""
    if rng.random() < 0.03:
        return [rng.choice(ODD) for _ in range(rng.randint(0, 3))]
    names = list(COMMANDS)
    name = rng.choices(names, [WEIGHTS.get(x, 2) for x in names])[0]
    line = _subject(name, rng)
    flags = FLAGS.get("train" if name == "estimate" else name, ["--json"])
    given = set()
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        flag = rng.choice(flags)
        given.add(flag)
        line += [flag, *(rng.choice(ODD) for _ in range(rng.choice((1, 1, 1, 0, 2))))]
    if rng.random() < 0.1:
        line.insert(rng.randint(0, len(line)), rng.choice(ODD))
    for flag, value in TAILS.get(name, {}).items():
        if flag not in given:
            line += [flag, value]
    if name == "train":
        line += ["--no-pictures", "--no-tensorboard"]
    return [name, *line]


def _subject(name: str, rng: Random) -> list[str]:
    """The positional arguments of a command."""
    if name in ("tasks", "doctor"):
        return [rng.choice(ODD)] if rng.random() < 0.3 else []
    usual = TASKS if name in ("train", "estimate", "reproduce", "check") else RUNS
    if name == "watch":  # with a valid directory, it would serve for ever
        return [rng.choice(("missing", "file.txt", "loop")), *rng.choices(ODD, k=rng.randint(0, 1))]
    likely = usual[:3] if rng.random() < 0.5 else usual
    chosen = [rng.choice(likely if rng.random() < 0.8 else ODD)]
    return chosen if rng.random() < 0.9 else [*chosen, rng.choice(ODD)]
