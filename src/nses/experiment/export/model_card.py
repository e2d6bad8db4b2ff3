"""The model card of a policy: what its users should know, as Markdown."""

import json
import math
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from nses.core.seeding import is_exact
from nses.core.values import State
from nses.experiment.runs.run import Run
from nses.experiment.settings.build import sees_pixels
from nses.experiment.settings.command import changes_of, train_command
from nses.experiment.showing.results import (
    certainty,
    conditions_of,
    episodes,
    in_variations,
    retest_of,
)
from nses.rollouts.policies.gru import GRU
from nses.rollouts.spaces import entries, leaves
from nses.words import short

MODEL_CARD = "MODEL_CARD.md"


def interval(x: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of the mean by Student's t; None for a single number."""
    from scipy.special import stdtrit

    if len(x) < 2:
        return None
    half = float(stdtrit(len(x) - 1, 0.975)) * float(np.std(x, ddof=1)) / math.sqrt(len(x))
    return float(np.mean(x)) - half, float(np.mean(x)) + half


def model_card(run: Run, which: str, difference: float, observations: int) -> str:
    """The card of a policy; its ONNX file differs by at most `difference` from it."""
    config = run.config
    size = run.family.size
    rows = {
        "task": f"`{config.task}`",
        "algorithm": f"`{config.algorithm}`",
        "recipe": f"`{config.recipe}`",
        "changed settings": ", ".join(f"`{name}={x}`" for name, x in changes_of(config).items())
        or "none",
        **conditions_of(run),
        "seed": config.seed,
        "policy": f"`{which}`, {_network(run)}, {size:,} parameters",
        "trained for": _trained_for(run, which),
        "observations": f"`{run.facts.observation_space}`",
        "actions": f"`{run.facts.action_space}`",
        "versions": ", ".join(f"{name} {version}" for name, version in run.versions.items()),
    }
    table = "\n".join(f"| {name} | {_cell(value)} |" for name, value in rows.items())
    return f"""\
# The {which} policy for {config.task}, trained with {config.algorithm}

Trained with nses, novelty-seeking evolution strategies
([Conti et al. 2018](https://arxiv.org/abs/1712.06560)).

| | |
|---|---|
{table}

## How good it is

{_results(run, which)}

## How it was trained

{_training(run)}

## How to use it

{_usage(run, which)}

On {observations:,} observations (random ones, and those of an episode if the task could be made),
the outputs of the ONNX file in onnxruntime differed from those of nses by at most {difference:.1e}.

## Intended use

It is meant for the task above, for comparisons, and for studying how policies explore. It was
trained in simulation only and is not known to work anywhere else. It must not control
anything that can do harm.
"""


def _trained_for(run: Run, which: str) -> str:
    source = run.newest if which == "best" else run.state
    text = f"{source.generation:,} of {run.config.generations:,} generations"
    if isinstance(source, State):
        cost = (source.episodes, source.env_steps)
    else:
        lines = [r for r in run.metrics if r["generation"] == source.generation]
        cost = (lines[-1]["episodes"], lines[-1]["env_steps"]) if lines else None
    return f"{text}, {cost[0]:,} episodes, {cost[1]:,} environment steps" if cost else text


def _results(run: Run, which: str) -> str:
    if which != "best":
        return (
            "This is not the best policy of its run, so it was not tested at the end; "
            f"`nses evaluate RUN --policy {shlex.quote(which)}` tests it in fresh episodes."
        )
    now = run.look()
    best, retest = now.best, now.retest
    score = (
        f"Best score: **{short(best.score)}**, the mean of {_episodes(run)} in generation "
        f"{best.generation} (member {best.member}). It is {certainty(run)}."
    )
    if not retest:
        return f"{score}\n\nThe run has not finished, so there is no re-test yet."
    elsewhere = in_variations(now.variations).items()
    varied = [f"With {name}: **{mean}** {how}." for name, (mean, how) in elsewhere]
    fresh = [] if run.exact else [_retest(run, retest)]
    return "\n\n".join([score, *fresh, *varied])


def _retest(run: Run, retest: Sequence[float]) -> str:
    if is_exact(run.config.retest_episodes, run.starts):
        mean, how = retest_of(run, retest)
        return f"Re-test: **{mean}**, {how} of an episode."
    average, std, ends = float(np.mean(retest)), float(np.std(retest)), interval(retest)
    between = (
        f"; 95 % interval of the mean (Student's t): {short(ends[0])} to {short(ends[1])}"
        if ends
        else ""
    )
    return (
        f"Re-test: **{short(average)} ± {short(std)}**, mean and standard deviation of the "
        f"returns of {episodes(len(retest), 'fresh ')}{between}."
    )


def _episodes(run: Run) -> str:
    count = len(run.starts) if run.exact else run.config.evaluation_episodes
    return f"{count} episodes" if count > 1 else "one episode"


def _training(run: Run) -> str:
    if run.own_task:
        return "In Python, on a Task object; no command repeats it."
    if run.own_policy:
        return "In Python, with a policy object; no command repeats it."
    text = f"```console\n$ {train_command(run.config)}\n```"
    resumed = len(run.resumptions)
    if resumed:
        times = "once" if resumed == 1 else f"{resumed} times"
        text += f"\n\nThe run was resumed {times}, which does not change its result."
    return text


def _network(run: Run) -> str:
    config = run.config
    if run.own_policy or config.policy_class:
        return f"a network of its own ({config.policy_class or run.own_policy})"
    if sees_pixels(config, run.facts):
        return "a convolutional network with virtual batch norm"
    hidden = " × ".join(map(str, config.hidden)) or "no"
    scaled = "normalised" if config.normalize else "raw"
    kind = "an MLP" if units_of(run) is None else "a gated recurrent unit"
    return f"{kind} on {scaled} observations, {hidden} hidden units ({config.activation})"


def units_of(run: Run) -> int | None:
    """The length of the state; None for a network that remembers nothing."""
    network = run.family
    return network.units if isinstance(network, GRU) else None


def _usage(run: Run, which: str) -> str:
    settings = {"max_steps": run.config.max_steps, **run.config.environment_arguments}
    arguments = [f"{name}={value!r}" for name, value in settings.items() if value is not None]
    task = f"nses.make_task({', '.join([json.dumps(run.config.task), *arguments])})"
    network = run.config.policy_class
    brought = f", policy={json.dumps(network)}" if network else ""
    brought = ", policy=..." if run.own_policy else brought
    environment = "...  # that of the task" if run.own_task else f"{task}.make()"
    return f"""\
With onnxruntime alone (`pip install onnxruntime`), for one observation or many at a time:

```python
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession("policy.onnx", providers=["CPUExecutionProvider"])
{_computing(run)}
{_step(run)}
```

With nses, from the run directory:

```python
import nses

policy = nses.load("RUN"{brought}).policy({json.dumps(which)})
environment = {environment}
observation, info = environment.reset(seed=0)
action = policy(observation)
```"""


def _computing(run: Run) -> str:
    """The lines that ask for an action, as Python."""
    names = [leaf.name for leaf in leaves(run.facts.action_space, "action")]
    first, units = "action" if names == ["action"] else "*actions", units_of(run)
    if units is None:
        return f"{first}, output = session.run({json.dumps([*names, 'output'])}, {_inputs(run)})"
    names += ["output", "next_state"]
    return f"""\
state = np.zeros((1, {units}), np.float32)  # at the beginning of every episode
inputs = {_inputs(run)} | {{"state": state}}
{first}, output, state = session.run({json.dumps(names)}, inputs)"""


def _step(run: Run) -> str:
    """What to do with the answer, as Python."""
    if entries(run.facts.action_space):
        return "# actions has an array for each part of the action, in the order of its space"
    return "environment.step(action[0])"


def _inputs(run: Run) -> str:
    """The second argument of `session.run`, as Python."""

    def one(leaf: Any) -> str:
        keys = "".join(f"[{key!r}]" for key in leaf.keys)
        return f'"{leaf.name}": np.array([observation{keys}], np.float32)'

    return (
        "{"
        + ", ".join(one(leaf) for leaf in leaves(run.facts.observation_space, "observation"))
        + "}"
    )


def _cell(value: Any) -> str:
    """A value on one line, with the separator of cells escaped."""
    return " ".join(str(value).split()).replace("|", "\\|")
