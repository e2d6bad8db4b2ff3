"""nses export: a policy as an ONNX file, with a model card."""

import shlex
from dataclasses import dataclass

from nses.cli.arguments import RunDirectory, parse, terminal
from nses.words import say


@dataclass(frozen=True)
class Arguments:
    run: RunDirectory
    policy: str = "best"
    """best, final (the member updated last), member:I, or one of the past: generation:G or
    generation:G:candidate:I."""
    output: str | None = None
    """The directory to write to; the run directory if not given."""


def command(argv: list[str]) -> int:
    given = parse(Arguments, argv, "export", "policy.onnx and MODEL_CARD.md of a trained policy.")
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
