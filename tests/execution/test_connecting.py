"""The way to a cluster: what is refused, what is said, and who could read the token."""

import importlib
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clusters import needs_ray
from nses.errors import UsageError
from nses.execution import connecting
from nses.execution.connecting import (
    MODE,
    TOKEN,
    TOKEN_FILE,
    Connection,
    check_token,
    is_loopback,
    own_token,
    parsed,
)

pytestmark = needs_ray


@pytest.fixture(autouse=True)
def no_tokens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (MODE, TOKEN, TOKEN_FILE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@contextmanager
def nobody_listens() -> Iterator[int]:
    """A port that is taken, where nobody answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize("address", ["", "head", "head:", ":6379", "head:port", "ray://head:10001"])
def test_an_address_is_a_host_and_a_port(address: str):
    with pytest.raises(UsageError, match=r"must be the HOST:PORT .* got"):
        parsed(address)


def test_addresses_are_taken_apart():
    assert parsed("10.0.0.7:6379") == ("10.0.0.7", 6379)
    assert parsed("[::1]:6379") == ("::1", 6379)


@pytest.mark.parametrize(
    ("host", "loopback"), [("127.0.0.1", True), ("127.3.2.1", True), ("10.0.0.7", False)]
)
def test_loopback_addresses_are_known(host: str, loopback: bool):
    assert is_loopback(host) == loopback


def test_where_nobody_listens_it_is_said_within_seconds():
    with nobody_listens() as port, pytest.raises(UsageError, match=r"no Ray cluster answers at"):
        Connection(f"127.0.0.1:{port}", 1)


def test_a_cluster_on_a_network_without_a_token_is_refused_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(connecting, "_knock", lambda *_: pytest.fail("it was spoken to"))
    with pytest.raises(UsageError, match=r"RAY_AUTH_MODE is not 'token'.*ray get-auth-token"):
        Connection("10.0.0.7:6379", 1)


def test_a_token_must_be_there_and_must_be_private(tmp_path: Path):
    file = tmp_path / "token"
    environment = {MODE: "token", TOKEN_FILE: str(file)}
    with pytest.raises(UsageError, match="there is no token"):
        check_token(environment)
    file.touch(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        check_token(environment)
    file.chmod(0o600)
    check_token(environment)
    check_token({MODE: "token", TOKEN: "secret"})


def test_a_machine_too_busy_to_start_a_cluster_is_told_so(monkeypatch: pytest.MonkeyPatch):
    def late(**settings: object) -> None:
        raise Exception("The current node timed out during startup.")

    monkeypatch.setattr(importlib.import_module("ray"), "init", late)
    with pytest.raises(UsageError, match=r"on this machine could not be started: .* timed out"):
        connecting._init(None, {})


def test_our_own_token_is_for_nobody_else_to_read():
    settings = own_token()
    file = Path(settings[TOKEN_FILE])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = file.read_text()
    assert len(token) == 64
    assert own_token() == settings
    assert file.read_text() == token
    file.chmod(0o644)  # others may have read it
    own_token()
    assert file.read_text() != token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_token_of_the_user_is_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(TOKEN, "mine")
    assert own_token() == {MODE: "token"}
