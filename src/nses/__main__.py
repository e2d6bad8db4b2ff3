"""`python -m nses` is `nses`."""

import sys

from nses.cli import main

sys.exit(main())
