"""What can go wrong, as exceptions that a user may catch. Each knows the exit code of the command.

    NsesError                  1
      UsageError               2   also a ValueError
      TaskBroken               2   also a ValueError
      CheckpointRefused        3
      StorageFailed            4   also an OSError
      TooManyFailures          5   also a RuntimeError
      NotFinite                1   also an ArithmeticError
      RunsFailed               that of the runs, where they agree
      StopTraining             which a listener of yours raises to stop a run
    Stopped                    128 + the signal; not an Exception

Any other exception is a bug of ours, or one of your own code.
"""

import signal


class NsesError(Exception):
    """Something went wrong that we expected might, and its message says what to do."""

    exit_code = 1


class UsageError(NsesError, ValueError):
    """What was given cannot be used: what was expected, what came, what to do."""

    exit_code = 2


class TaskBroken(NsesError, ValueError):
    """Not a single episode of the task could be played."""

    exit_code = 2


class CheckpointRefused(NsesError):
    """What is on disk is damaged, foreign or of another run, and is not used."""

    exit_code = 3


class StorageFailed(NsesError, OSError):
    """The disk did not take what it was given."""

    exit_code = 4


class TooManyFailures(NsesError, RuntimeError):
    """More evaluations failed than a generation can do without."""

    exit_code = 5


class NotFinite(NsesError, ArithmeticError):
    """An update would have put NaN or infinity into theta. It was not applied."""


class RunsFailed(NsesError):
    """Some runs of an experiment did not finish."""

    def __init__(self, jobs: int, failed: dict[str, tuple[str, int]]):
        names = ", ".join(f"{name} ({fault})" for name, (fault, _) in failed.items())
        super().__init__(f"{len(failed)} of {jobs} runs failed: {names}.")
        codes = {code for _, code in failed.values()}
        self.exit_code = codes.pop() if len(codes) == 1 and min(codes) > 0 else 1


class StopTraining(NsesError):
    """Raised by a listener: the run stops after this generation, and can be resumed.

    Not a value that a listener returns: many functions return something without meaning it.
    """


class Stopped(BaseException):
    """A signal asked training to stop, and it did; all finished generations are on disk.

    Not an Exception, just as KeyboardInterrupt is not: `except Exception` does not mean this.
    """

    def __init__(self, signum: int):
        super().__init__(
            f"stopped by {signal.Signals(signum).name}; all finished generations are kept"
        )
        self.exit_code = 128 + signum
