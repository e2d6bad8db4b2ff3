"""nses tasks: what there is to train on."""

from nses.cli.arguments import Nothing, parse, terminal


def command(argv: list[str]) -> int:
    parse(Nothing, argv, "tasks", "The built-in tasks.")
    from nses.experiment.showing.info import show_tasks

    show_tasks(terminal())
    return 0
