"""`python -m dpacct` is the same program as `dpacct`."""

import sys

from dpacct.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
