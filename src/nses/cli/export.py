"""nses export: write a policy as an ONNX file with a model card."""

import shlex
from dataclasses import dataclass

from nses.cli.arguments import PolicyName, RunDirectory, parse, terminal
from nses.words import say


@dataclass(frozen=True)
class Arguments:
    run: RunDirectory
    policy: PolicyName = "best"
    output: str | None = None
    """The directory to write to; the run directory if not given."""


def command(argv: list[str]) -> int:
    given = parse(Arguments, argv, "export", "Write policy.onnx and MODEL_CARD.md for a policy.")
    from nses.experiment.export.onnx import export
    from nses.experiment.runs.run import load

    console = terminal()
    exported = export(load(given.run), given.policy, given.output)
    say(console, "policy", f"{shlex.quote(str(exported.model))} ({given.policy})")
    say(console, "model card", shlex.quote(str(exported.card)))
    say(
        console,
        "checked",
        f"outputs differ by at most {exported.difference:.1e} in "
        f"{exported.observations} observations (onnxruntime)",
    )
    return 0
