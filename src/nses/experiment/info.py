"""What a run is and how far it got, in a few facts."""

from typing import Any

from nses.experiment.config import to_dict
from nses.experiment.recipes import recipe
from nses.experiment.run import Run


def facts_of(run: Run) -> dict[str, Any]:
    """Facts by name, in the order in which a person asks for them."""
    config, state, retest = run.config, run.state, run.retest
    base = to_dict(recipe(config.task, config.recipe, config.algorithm))
    changes = {
        name: value
        for name, value in to_dict(config).items()
        if value != base[name] and name not in ("seed", "run_dir", "generations")
    }
    records = run.metrics
    facts: dict[str, Any] = {
        "task": config.task,
        "algorithm": config.algorithm,
        "seed": config.seed,
        "recipe": config.recipe,
        "changed settings": changes or "none",
        "generation": f"{state.generation} of {config.generations}"
        + (", finished" if run.finished else ""),
        "best score": state.best.score,
        "best found": f"generation {state.best.generation}, member {state.best.member}",
        "re-test": sum(retest) / len(retest) if retest else "not yet",
        "parameters": state.members[0].theta.size,
        "members": len(state.members),
        "archive": len(state.archive),
        "weight": [weight.w for weight in state.weights],
        "episodes": state.episodes,
        "environment steps": state.env_steps,
        "seconds": records[-1]["seconds"] if records else 0.0,
        "versions": run.versions,
        "digest": run.digest,
    }
    return facts
