"""`python -m devenv`, which is what ./dev runs."""

import sys

from devenv.cli import main

sys.exit(main(sys.argv[1:]))
