"""nses tasks: list the built-in tasks."""

from nses.cli.arguments import Nothing, parse, terminal


def command(argv: list[str]) -> int:
    parse(Nothing, argv, "tasks", "List the built-in tasks.")
    from nses.experiment.showing.info import show_tasks

    show_tasks(terminal())
    return 0
