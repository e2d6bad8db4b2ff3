"""Rules of single settings that no bound can express: what is wrong with a value, in sentences."""

from collections.abc import Collection, Iterable, Iterator

from nses.experiment.settings.values import value_of


def even(n: int) -> Iterator[str]:
    if n < 2 or n % 2:
        yield (
            f"n must be even and at least 2 because candidates are mirrored, got n={n}; "
            f"try n={max(2, n + n % 2)}."
        )


def layers(hidden: tuple[int, ...]) -> Iterator[str]:
    if not all(units >= 1 for units in hidden):
        yield f"every hidden layer must have at least 1 unit, got hidden={hidden}."


def names(observation: str) -> Iterator[str]:
    if not all(key.strip() for key in observation.split(",")):
        yield f"observation must name entries, as in image,direction, got {observation!r}."


def modules(imports: tuple[str, ...]) -> Iterator[str]:
    for module in imports:
        if not all(part.isidentifier() for part in module.split(".")):
            yield f"import takes the name of a module, as in package.module, got {module!r}."


def pairs(environment: Iterable[str], own: Collection[str]) -> Iterator[str]:
    """Arguments of an environment, in training too; some have settings of their `own`."""
    for pair in environment:
        name, equals, text = pair.partition("=")
        if not name.isidentifier() or not equals:
            yield f"environment takes NAME=VALUE, got {pair!r}."
        elif name in own:
            yield f"{name} is not an argument of the environment; use the setting of that name."
        try:
            value_of(f"environment {name}", text)
        except ValueError as error:
            yield str(error)
