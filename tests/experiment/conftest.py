"""Fixtures of several tests here."""

from browser import chromium, visit  # noqa: F401
