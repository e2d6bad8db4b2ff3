"""The Gymnasium ids of this package."""

import subprocess
import sys


def test_other_libraries_make_the_environments_by_id():
    """In a process of its own, where nobody has imported nses."""
    code = "import gymnasium; gymnasium.make('nses.rollouts.tasks.catalog:NSES/PointTrap-v0')"
    subprocess.run([sys.executable, "-c", code], check=True)
