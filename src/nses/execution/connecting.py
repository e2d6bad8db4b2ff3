"""Connects to a Ray cluster: an existing one, or one of our own on this machine.

Ray runs whatever code it is sent. So a cluster of our own listens on the loopback interface only
and asks for a token, and we connect to one on a network only if it asks for a token too.
"""

import ipaddress
import logging
import os
import secrets
import socket
import stat
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from nses.errors import UsageError
from nses.execution.leaving import leave_at_once
from nses.execution.surroundings import (
    LOOPBACK,
    environment,
    hushed,
    own_folder,
    same_signals,
)
from nses.extras import needing

ANSWER = 5.0  # seconds in which a cluster must accept a connection
OBJECTS = 100 << 20  # bytes for objects in a cluster of our own: one job and a few rows
MODE, TOKEN, TOKEN_FILE = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"

ALWAYS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "120",  # enough where other work leaves us part of a core
    # Otherwise Ray ends this process a minute after losing its head, before we can say so.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "86400",
}
JOINING = {"RAY_gcs_server_port_wait_time_s": "3"}  # seconds that a head may take to let us in
OURS = {
    "RAY_worker_niceness": "0",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
}
HOW_TO_SECURE = (
    "Generate a token with 'ray get-auth-token --generate', copy ~/.ray/auth_token to every "
    f"machine with mode 0600, and set {MODE}=token wherever 'ray start' and nses run."
)


class Connection:
    """This process's connection to a cluster; closing it takes down what was started for it."""

    def __init__(self, address: str | None, cpus: int):
        with needing("ray", "--backend ray"):
            import importlib.util

            if importlib.util.find_spec("ray") is None:
                raise ImportError("no module named 'ray'")
        self.stack = ExitStack()
        try:
            self._open(address, cpus)
        except BaseException:
            self.stack.close()
            raise

    def _open(self, address: str | None, cpus: int) -> None:
        imported = sys.modules.get("ray")
        if imported is not None and imported.is_initialized():  # by the user: leave it as it is
            return
        if address is None:
            folder = self.stack.enter_context(own_folder())
            settings = ALWAYS | LOOPBACK | OURS | own_token()
            own = {
                "num_cpus": cpus,
                "include_dashboard": False,
                "object_store_memory": OBJECTS,
                "_temp_dir": folder,
                "_system_config": {"enable_worker_prestart": False},
            }
        else:
            host, port = parsed(address)
            loopback = is_loopback(host)
            if not loopback:
                check_token(os.environ)
            _knock(address, host, port)
            settings, own = ALWAYS | JOINING | (LOOPBACK if loopback else {}), {}
        self.stack.enter_context(environment(settings))
        self.stack.enter_context(hushed())
        _init(address, own)
        self.stack.callback(_shutdown)

    def forsake(self) -> None:
        """Drops the connection: with the head gone, Ray cannot even shut down."""
        import atexit

        import ray

        atexit.unregister(ray.shutdown)
        leave_at_once("Ray crashes when it is torn down without its head")
        _forsaken.append(self.stack.pop_all())

    def close(self) -> None:
        self.stack.close()


_forsaken: list[ExitStack] = []  # kept, or they would be closed with what they hold


def _init(address: str | None, own: dict[str, Any]) -> None:
    with same_signals():
        import ray

        logging.getLogger("ray").setLevel(logging.CRITICAL)  # we report what matters ourselves
        _look_again()
        try:
            ray.init(
                address=address or "local",
                log_to_driver=False,
                configure_logging=False,
                **own,
            )
        except Exception as error:  # of many kinds: one that is late to start is a bare Exception
            with suppress(Exception):
                ray.shutdown()
            raise UsageError(_why(address, error)) from error


def _why(address: str | None, error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    if address is None:
        return f"a Ray cluster on this machine could not be started: {text}"
    if "ersion mismatch" in text:
        return f"the Ray cluster at {address} runs other versions: {text}"
    if "InvalidAuthToken" in f"{text} {error.__cause__}":
        return (
            f"the Ray cluster at {address} asks for a token, and ours is missing or another one. "
            f"Set {MODE}=token, and give us the cluster's token in {TOKEN_FILE} or "
            "~/.ray/auth_token."
        )
    return (
        f"the Ray cluster at {address} did not let us in: {text}\nIf this machine is not one of "
        f"its nodes, run 'ray start --address={address}' here first, with --num-cpus=0 if it "
        "should not play."
    )


def _look_again() -> None:
    """Makes Ray read its settings and its token anew: it keeps those of its import."""
    from ray import _raylet

    internals: Any = _raylet
    internals.Config.initialize("")
    if hasattr(internals, "AuthenticationTokenLoader"):  # older versions have none
        internals.AuthenticationTokenLoader.instance().reset_cache()


def _shutdown() -> None:
    import ray

    with same_signals():
        ray.shutdown()


# Tokens.


def own_token() -> dict[str, str]:
    """Settings for a cluster of our own, whose token nobody else can read."""
    if os.environ.get(TOKEN) or os.environ.get(TOKEN_FILE):
        return {MODE: "token"}
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    file = home / "nses" / "ray-token"
    if not _is_private(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w") as opened:
            opened.write(secrets.token_hex(32))
    return {MODE: "token", TOKEN_FILE: str(file)}


def _is_private(file: Path) -> bool:
    try:
        found = file.lstat()
    except OSError:
        return False
    closed = stat.S_ISREG(found.st_mode) and not found.st_mode & 0o077
    return closed and found.st_uid == os.getuid() and found.st_size > 0


def check_token(environment: Mapping[str, str]) -> None:
    """UsageError unless we have a token for a cluster on the network, and nobody can read it."""
    if environment.get(MODE, "").lower() != "token":
        raise UsageError(
            "a Ray cluster on a network runs whatever code anybody sends it, unless it asks for a "
            f"token, and {MODE} is not 'token'. {HOW_TO_SECURE}"
        )
    if environment.get(TOKEN):
        return
    file = Path(environment.get(TOKEN_FILE) or "~/.ray/auth_token").expanduser()
    if not file.is_file():
        raise UsageError(f"there is no token for the Ray cluster at {file}. {HOW_TO_SECURE}")
    if file.stat().st_mode & 0o077:
        raise UsageError(f"others can read the token {file}; type: chmod 600 {file}")


# Addresses.


def parsed(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if "://" in address or not (colon and host and port.isdecimal() and 0 < int(port) < 65536):
        raise UsageError(
            "ray_address must be the HOST:PORT of a cluster's head, as 'ray start' prints it "
            f"(for example 10.0.0.7:6379), got {address!r}."
        )
    return host.strip("[]"), int(port)


def is_loopback(host: str) -> bool:
    try:
        found = socket.getaddrinfo(host, None)
    except OSError as error:
        raise UsageError(f"ray_address: there is no machine called {host!r} ({error}).") from None
    return all(ipaddress.ip_address(entry[4][0]).is_loopback for entry in found)


def _knock(address: str, host: str, port: int) -> None:
    """UsageError if nobody listens at this address, where Ray itself would wait for minutes."""
    try:
        socket.create_connection((host, port), ANSWER).close()
    except OSError as error:
        raise UsageError(
            f"no Ray cluster answers at {address} ({error}); start one there with 'ray start "
            f"--head --port={port}', or leave out --ray-address for one on this machine."
        ) from None
