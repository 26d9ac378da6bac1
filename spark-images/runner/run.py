"""The file that a SparkApplication names as mainApplicationFile.

Spark copies only this file and knows no package, so it looks for the package where an image has it (beside this file)
and where a checkout has it (under src).
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "src")]

from sluice_runner.main import main  # noqa: E402 - the path must be set first

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
