"""Settings of the tests of core."""

from hypothesis import settings

# Compiling takes seconds once, so no deadline; the same examples everywhere, so no surprises in CI.
settings.register_profile("core", deadline=None, derandomize=True, database=None)
settings.load_profile("core")
