"""Compiles the LogStore into one jar: `build.py --jar JAR --class-path FOLDER... -- COMPILER...`.

`--sources FOLDER` compiles other sources instead.

The same sources make the same jar, byte for byte, whenever and wherever they are compiled by one compiler.
"""

import argparse
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parent / "src"
RELEASE = "17"
FIRST_ZIP_DATE = (1980, 1, 1, 0, 0, 0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compiles the LogStore into one jar.")
    parser.add_argument("--jar", type=Path, required=True, help="the jar to write")
    parser.add_argument("--sources", type=Path, default=SOURCES, help="the folder of Java files")
    parser.add_argument("--class-path", type=Path, nargs="+", required=True, help="folders of jars")
    parser.add_argument("compiler", nargs="+", help="the compiler's command line, after --")
    return parser.parse_args()


def entries(classes: Path) -> Iterator[tuple[str, bytes]]:
    yield "META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\r\n\r\n"
    for file in sorted(classes.rglob("*.class")):
        yield file.relative_to(classes).as_posix(), file.read_bytes()


def main() -> int:
    given = arguments()
    class_path = ":".join(str(jar) for folder in given.class_path for jar in sorted(folder.glob("*.jar")))
    with tempfile.TemporaryDirectory() as classes:
        compiling = [*given.compiler, "--release", RELEASE, "-cp", class_path, "-d", classes]
        sources = map(str, sorted(given.sources.rglob("*.java")))
        status = subprocess.run([*compiling, *sources], check=False).returncode
        if status != 0:
            return status
        with zipfile.ZipFile(given.jar, "w", zipfile.ZIP_DEFLATED) as jar:
            for name, content in entries(Path(classes)):
                jar.writestr(zipfile.ZipInfo(name, FIRST_ZIP_DATE), content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
