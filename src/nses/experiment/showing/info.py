"""A run described in facts, and the table of built-in tasks."""

from typing import Any

from rich.console import Console
from rich.table import Table

from nses.experiment.runs import checkpoint
from nses.experiment.runs.log import Record
from nses.experiment.runs.run import Run
from nses.experiment.settings.command import changes_of
from nses.experiment.settings.recipes import GENERAL
from nses.experiment.showing.results import certainty, conditions_of
from nses.rollouts.tasks.catalog import ATARI, SHIPPED, make_task


def facts_of(run: Run) -> dict[str, Any]:
    """Facts by name, the most important first."""
    config = run.config
    if not checkpoint.stored(run.path / checkpoint.DIRECTORY):
        return {"task": config.task, "algorithm": config.algorithm, **_without_checkpoints(run)}
    now = run.look()
    state, best, retest, records = now.state, now.best, now.retest, now.records
    facts: dict[str, Any] = {
        "task": config.task,
        "algorithm": config.algorithm,
        "seed": config.seed,
        "recipe": config.recipe,
        "changed settings": changes_of(config) or "none",
        **conditions_of(run),
        "generation": f"{state.generation} of {config.generations}"
        + (", finished" if now.finished else ""),
        **({"stopped": now.why} if now.why else {}),
        "best score": best.score,
        "best found": f"generation {best.generation}, member {best.member}",
        **_tests(run, retest, now.variations),
        "parameters": state.members[0].theta.size,
        "members": len(state.members),
        "archive": len(state.archive),
        "weight": [round(weight.w, 6) for weight in state.weights],
        "episodes": state.episodes,
        "environment steps": state.env_steps,
        "seconds": records[-1]["seconds"] if records else 0.0,
        **_pace(records),
        "versions": run.versions,
        "digest": now.digest,
    }
    return facts


def _pace(records: list[Record]) -> dict[str, str]:
    """What workers did with their time, in the generations whose backend knows it."""
    guesses = [x for r in records if (x := r.get("foreseen")) is not None]
    idle = [x for r in records if (x := r.get("idle")) is not None]
    facts = {}
    if guesses:
        facts["looking ahead"] = f"{sum(guesses)} of {len(guesses)} guesses were right"
    if idle:
        facts["workers idle"] = f"{100 * sum(idle) / len(idle):.1f} % of the time"
    return facts


def _without_checkpoints(run: Run) -> dict[str, Any]:
    end = run.ending
    if end is None:
        return {"generation": "none yet"}
    return {
        "generation": f"{end.generation} of {run.config.generations}, its checkpoints are gone",
        "best score": end.best.score,
        "best found": f"generation {end.best.generation}, member {end.best.member}",
        **_tests(run, end.returns, end.variations),
    }


def _tests(run: Run, retest: list[float], variations: dict[str, list[float]]) -> dict[str, Any]:
    """What kind of number the best score is, and how good the best policy is otherwise."""
    facts: dict[str, Any] = {"best score is": certainty(run)}
    facts["re-test"] = sum(retest) / len(retest) if retest else "not yet"
    return facts | {f"with {name}": sum(f) / len(f) for name, f in variations.items() if f}


def show_tasks(console: Console) -> None:
    """A table of the built-in tasks, and how to name any other."""
    table = Table(title="tasks", title_justify="left")
    for column in ("task", "observations", "actions", "behavior", "steps"):
        table.add_column(column)
    for name in SHIPPED:
        task = make_task(name)
        table.add_row(
            name,
            _space(task.facts.observation_space),
            _space(task.facts.action_space),
            task.behavior.name,
            str(task.step_limit),
        )
    table.add_row(f"{ATARI}GAME", "84×84×4 numbers", "by game", "ram", "5000")  # without ale-py
    console.print(table)
    console.print(
        f"Every task has the recipes {', '.join(GENERAL)}.\n"
        "GAME is frostbite, ms_pacman or any other game of ale-py: pip install 'nses[atari]'.\n"
        "Any Gymnasium id works too. --behavior chooses what novelty is measured on;\n"
        "the default is the whole last observation:\n"
        "  nses train CartPole-v1 --behavior final-observation:0\n"
        "So does an environment of your own:\n"
        "  nses train package.module:Environment --max-steps 500",
        highlight=False,
        soft_wrap=True,
    )


def _space(space: Any) -> str:
    shape = getattr(space, "shape", ())
    return f"{'×'.join(map(str, shape))} numbers" if shape else str(space)
