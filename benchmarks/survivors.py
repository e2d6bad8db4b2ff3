"""Mutants of `core` that no test can or need notice, each with the reason."""

REASONS: dict[str, str] = {}
