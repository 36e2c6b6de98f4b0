"""`python -m dpacct_training.cli`: the command without its script."""

from __future__ import annotations

import sys

from dpacct_training.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
