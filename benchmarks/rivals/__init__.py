"""EvoTorch and Stable-Baselines3 in an environment of their own, installed when first needed."""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
VENV = HERE / ".venv"
REQUIREMENTS = HERE / "requirements.txt"
CONSTRAINTS = HERE.parent.parent / "constraints.txt"  # the same Gymnasium and MuJoCo as ours
RACING = ("evotorch", "ars")


def steps_per_second(library: str, env: str, seconds: float) -> float:
    """How fast a library trains; starting and warming up takes a minute on top of `seconds`."""
    install()
    done = subprocess.run(
        [VENV / "bin" / "python", HERE / "measure.py", library, env, str(seconds)],
        capture_output=True,
        text=True,
        cwd=VENV,  # the libraries leave files behind
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    if done.returncode:
        raise RuntimeError(f"{library} failed on {env}:\n{done.stderr}")
    result = json.loads(done.stdout.splitlines()[-1])
    return result["steps"] / result["seconds"]


def program(library: str, env: str) -> list[str]:
    """How the command begins that lets a library take part in a race."""
    return [str(VENV / "bin" / "python"), "-m", "benchmarks.rivals.race", library, env]


def own_token(folder: Path) -> dict[str, str]:
    """The environment of a Ray that leaves no token in the home directory for all to read."""
    token = folder / "token"
    token.touch(0o600)
    token.write_text(secrets.token_hex(16))
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}


def versions() -> str:
    """Of the libraries."""
    named = ("evotorch", "sb3-contrib", "stable-baselines3", "torch")
    lines = [line.split("==") for line in REQUIREMENTS.read_text().splitlines()]
    return ", ".join(" ".join(line) for line in lines if line[0] in named)


def install() -> None:
    """Install the libraries, again whenever a version changes, with pip's own configuration."""
    wanted, stamp = REQUIREMENTS.read_text() + CONSTRAINTS.read_text(), VENV / ".installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"installing the rivals into {VENV}, 1.5 GB", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    pip = [VENV / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install"]
    subprocess.run(
        [*pip, "--quiet", "--requirement", REQUIREMENTS, "--constraint", CONSTRAINTS], check=True
    )
    stamp.write_text(wanted)
