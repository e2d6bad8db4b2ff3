"""Environments that end, kill or hang the process that first looks at them: `hostile:NAME`."""

import ctypes
import os
import sys
import threading
import time

from troubled import Calm


class Exits(Calm):
    def reset(self, *, seed=None, options=None):
        sys.exit(0)


class Vanishes(Calm):
    def reset(self, *, seed=None, options=None):
        os._exit(0)


class Crashes(Calm):
    def reset(self, *, seed=None, options=None):
        ctypes.string_at(0)


class Hangs(Calm):
    def reset(self, *, seed=None, options=None):
        time.sleep(3600)


class Lingers(Calm):
    """Leaves a thread that nobody ends."""

    def reset(self, *, seed=None, options=None):
        if threading.active_count() < 3:
            threading.Thread(target=time.sleep, args=(3600,)).start()
        return super().reset(seed=seed)
