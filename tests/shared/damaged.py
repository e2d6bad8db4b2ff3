"""Ways in which the files of a run can be damaged, by name: each is a function of the run."""

import json
import os

from pretended import _test

DEEP = 20_000
HUGE = 10**400


def config_with(**changes):
    """Settings as no run of ours has them."""

    def damage(run):
        document = json.loads((run.path / "config.json").read_text())
        for name, value in changes.items():
            table = document if name in document else document["config"]
            table[name] = value
        (run.path / "config.json").write_text(json.dumps(document))

    return damage


def config_of(text):
    return lambda run: (run.path / "config.json").write_bytes(text)


def line_with(**changes):
    """A line of metrics.jsonl, the third, as no run of ours has it."""

    def damage(run):
        path = run.path / "metrics.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        lines[2] |= changes
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    return damage


def ending_with(score=1.0, generation=8, retest=(1.0,)):
    return lambda run: _test(run.path, score, generation, retest)


def flipped(name, where):
    """One byte of a file."""

    def damage(run):
        data = bytearray((run.path / name).read_bytes())
        data[int(where * len(data))] ^= 0x55
        (run.path / name).write_bytes(data)

    return damage


def cut(name, part):
    return lambda run: os.truncate(run.path / name, int(part * (run.path / name).stat().st_size))


def space(**description):
    box = {"box": [6], "low": "-1.0", "high": "1.0", "dtype": "float32"}
    return config_with(spaces={"observation": box, "action": box, "behavior": 2, **description})


LEFT_OUT = {
    "resumed-strangely": config_with(resumed={"a": [1]}),
    "best-flipped": flipped("best.safetensors", 0.5),
    "best-flipped-late": flipped("best.safetensors", 0.99),
    "best-cut": cut("best.safetensors", 0.5),
    "best-empty": cut("best.safetensors", 0),
    "best-garbage": lambda run: (run.path / "best.safetensors").write_bytes(os.urandom(5000)),
    "retest-huge": ending_with(retest=[1e200]),
    "retest-endless": ending_with(retest=[HUGE]),
    "retest-words": ending_with(retest=["one"]),
    "retest-none": ending_with(retest=[None]),
    "retest-nested": ending_with(retest=[[1.0]]),
    "score-huge": ending_with(score=1e300),
    "behavior-of-three": line_with(behavior=[1.0, 2.0, 3.0]),
    "behavior-of-one": line_with(behavior=[1.0]),
    "behavior-huge": line_with(behavior=[1e200, 1.0]),
    "generation-again": line_with(generation=2),
    "generation-later": line_with(generation=10**9),
    "member-of-none": line_with(member=7),
    "member-large": line_with(member=2**62),
    "best-large": line_with(best=1e250),
    "seconds-large": line_with(seconds=1e250),
    "steps-large": line_with(env_steps=10**200),
    "selection-long": line_with(selection=[0.1] * 5000),
    "task-long": config_with(task="x" * 100_000),
    "task-number": config_with(task=7),
    "task-half-a-letter": config_with(task="half \ud800"),
    "task-none": config_with(task=None),
    "layers": config_with(hidden=[64] * DEEP),
    "behavior-name-long": config_with(behavior="final:" + "x," * 50_000),
    "environment-long": config_with(environment=["x=" + "1" * 100_000]),
    "environment-many": config_with(environment=[f"x{i}=1" for i in range(5000)]),
    "environment-deep": config_with(environment=["half_width=" + "[" * DEEP]),
    "environment-text": config_with(environment=["half_width=wide"]),
    "environment-table": config_with(environment=['half_width={"a": []}']),
    "members-many": config_with(members=10**30),
    "members-none": config_with(members=0),
    "generations-huge": config_with(generations=2**63),
    "generations-half": config_with(generations=7.5),
    "sigma-text": config_with(sigma="wide"),
    "algorithm-other": config_with(algorithm="sgd"),
    "recipe-list": config_with(recipe=["laptop"]),
    "unknown-setting": config_with(**{"x" * 50_000: 1}),
    "format-newer": config_with(format=99),
    "format-text": config_with(format="one"),
    "config-list": config_of(b"[]"),
    "config-empty": config_of(b""),
    "config-cut": cut("config.json", 0.5),
    "config-bytes": config_of(b"\xff\xfe\x00"),
    "config-deep": config_of(b'{"a":' * DEEP + b"1" + b"}" * DEEP),
    "config-deep-lists": config_of(b'{"format": 1, "resumed": ' + b"[" * 60 + b"]" * 60 + b"}"),
    "config-endless-number": config_of(b'{"format": ' + b"1" * 10_000 + b"}"),
    "config-infinite": config_of(b'{"format": Infinity}'),
    "config-without-spaces": config_with(spaces={}),
    "spaces-list": config_with(spaces=[1, 2]),
    "space-endless": space(observation={"box": [1 << 62], "low": "0", "high": "1", "dtype": "f4"}),
    "space-negative": space(observation={"box": [-5], "low": "0", "high": "1", "dtype": "f4"}),
    "space-of-text": space(observation={"box": [6], "low": "a", "high": "1", "dtype": "f4"}),
    "space-of-objects": space(observation={"box": [6], "low": "0", "high": "1", "dtype": "O"}),
    "space-of-nothing": space(action={"discrete": 0, "start": 0}),
    "space-without-shape": space(action={"multibinary": []}),
    "space-unknown": space(action={"sphere": 3}),
    "behavior-size-huge": space(behavior=10**18),
    "behavior-size-negative": space(behavior=-2),
    "behavior-size-other": space(behavior=3),
    "versions-many": config_with(versions={str(i): "1" for i in range(5000)}),
    "versions-text": config_with(versions="all of them"),
}

# What is odd but no reason to leave a run out.
COMPARED = {
    "dollars": config_with(task=r"$\frac{x}{$"),
    "chinese": config_with(task="任务"),
    "formula": config_with(task="=1+2"),
    "line-end": config_with(task="two\nlines\0"),
    "environment-other": config_with(environment=["nothing=1"]),
    "underscores": config_with(task="___"),
    "long-name": config_with(task="y" * 200),
    "long-argument": config_with(task="own", environment=["x=" + "1" * 9_000]),
    "long-command": config_with(command="nses " + "x" * 100_000),
    "long-version": config_with(versions={"numpy": "1" * 100_000}),
    "nested-command": config_with(command=[["nses"]]),
    "seconds-null": line_with(seconds=None),
    "weight-null": line_with(weight=None),
    "generation-of-2-63": line_with(generation=2**63),
    "generation-endless": line_with(generation=HUGE),
    "generation-half": line_with(generation=2.5),
    "generation-true": line_with(generation=True),
    "member-negative": line_with(member=-1),
    "member-null": line_with(member=None),
    "best-null": line_with(best=None),
    "best-text": line_with(best="high"),
    "behavior-text": line_with(behavior="left"),
    "behavior-null": line_with(behavior=[None, None]),
    "metrics-cut": cut("metrics.jsonl", 0.6),
    "metrics-empty": cut("metrics.jsonl", 0),
    "metrics-garbage": lambda run: (run.path / "metrics.jsonl").write_bytes(os.urandom(5000)),
    "metrics-deep": lambda run: (run.path / "metrics.jsonl").write_bytes(b"[" * 10**6),
    "score-infinite": ending_with(score=float("-inf")),
    "retest-failed": ending_with(retest=[float("nan")]),
}
