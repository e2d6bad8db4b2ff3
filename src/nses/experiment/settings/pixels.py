"""What a user should know about images: they are a poor behavior, and may be flattened."""

from nses.errors import UsageError
from nses.experiment.settings.config import Config
from nses.rollouts.images import images_in
from nses.rollouts.tasks.catalog import DEFAULT_BEHAVIOR
from nses.rollouts.tasks.task import Facts, Task

NAMED = 4  # keys of info that a message shows


def refuse_pixels(config: Config, task: Task) -> None:
    """UsageError if novelty would be measured on pixels because nothing else was chosen."""
    unchosen = config.behavior is None and task.behavior.name == DEFAULT_BEHAVIOR
    names = images_in(task.facts.observation_space)
    if not unchosen or not names:
        return
    what = f"have an image, {names[0]!r}," if names[0] else "are images,"
    raise UsageError(
        f"observations of {task.name!r} {what} and pixels are a poor behavior. Choose what novelty "
        f"is measured on: {_instead(task.facts)}--behavior module:function takes the numbers that "
        "a function of yours returns for the last (observation, info). If you do want all pixels, "
        "say --behavior final-observation. In Python, write behavior=... for --behavior."
    )


def _instead(facts: Facts) -> str:
    """The behaviors that an environment offers by itself."""
    keys, places = facts.info, facts.places
    more = f" (it has {', '.join(keys)})" if len(keys) > NAMED else ""
    info = f"--behavior final:{','.join(keys[:NAMED])} takes these numbers of the last info{more}; "
    place = (
        f"--behavior final-attribute:{','.join(places[:1])} takes this attribute of the environment"
    )
    others = f" (others are {', '.join(places[1:NAMED])})" if places[1:] else ""
    return info * bool(keys) + f"{place}{others}; " * bool(places)


def flattened(config: Config, facts: Facts) -> str:
    """That a multilayer perceptron sees an image as a row of numbers, unless somebody said so."""
    names = images_in(facts.observation_space)
    if config.network != "auto" or not names:
        return ""
    name = names[0]
    which = f"the image {name!r} in the observations" if name else "the image that is observed"
    setting, value = ("observation", name.partition(".")[0]) if name else ("network", "conv")
    return (
        f"{which} is flattened for a multilayer perceptron. --{setting} {value} "
        f"({setting}={value!r}) gives it to a convolutional network; "
        "--network mlp (network='mlp') says that this is what you want."
    )
