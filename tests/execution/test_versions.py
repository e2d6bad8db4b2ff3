"""What a result depends on besides its settings."""

import platform

import numpy as np

from nses.execution.versions import cpu_model, current_versions


def test_versions_name_the_packages_the_interpreter_and_the_processor():
    versions = current_versions()
    assert versions["numpy"] == np.__version__
    assert versions["python"] == platform.python_version()
    assert versions["cpu"] == cpu_model() != ""
