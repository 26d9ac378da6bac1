"""`python -m generate [--check]`: writes anew what differs, or only says so."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from devenv.project import ROOT
from generate.files import made_in, stale_in


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(prog="./dev generate")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    check = parser.parse_args(arguments).check
    stale = stale_in(made_in(root))
    for path, text in stale.items():
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        print(f"stale: {path}; run ./dev generate and commit it" if check else f"written: {path}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
