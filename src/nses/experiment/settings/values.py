"""Values of settings as they are written: on the command line, in Python and in a stored run."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from nses.errors import UsageError


def stored_form(name: str, value: Any) -> Any:
    """A value as a run stores it, where Python offers more convenient ones."""
    if name.endswith("environment") and isinstance(value, Mapping):
        return tuple(f"{key}={json.dumps(item)}" for key, item in value.items())
    if name == "imports" and isinstance(value, str):
        return (value,)
    if name == "observation" and isinstance(value, list | tuple):
        return ",".join(str(key) for key in value)
    return tuple(value) if isinstance(value, list) else value


def arguments_of(environment: Iterable[str]) -> dict[str, Any]:
    """NAME=VALUE pairs, each value read as JSON if possible; UsageError for anything else."""
    pairs = {pair: pair.partition("=") for pair in environment}
    for pair, (name, equals, _) in pairs.items():
        if not name or not equals:
            raise UsageError(f"environment takes NAME=VALUE, got {pair!r}.")
    return {name: value_of(f"environment {name}", text) for name, _, text in pairs.values()}


def value_of(name: str, text: str) -> Any:
    """The value of a text on the command line: JSON if it is JSON, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:  # also for a number with more digits than Python reads
        return text
    except RecursionError:
        raise UsageError(f"{name} is nested too deeply: {text[:20]}...") from None
