"""python -m nses.cli"""

import sys

from nses.cli import main

if __name__ == "__main__":
    sys.exit(main())
