"""Where things are: the checkout, and the cache folder."""

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "devtools" / "locks"
IMPORT_ROOTS = (ROOT / "operator", ROOT / "devtools", ROOT / "spark-images" / "runner" / "src")
TESTS = ROOT / "tests"
PROGRAMS = ROOT / "devtools" / "bin"


def cache_folder() -> Path:
    """The one folder in which everything that isn't ours is installed."""
    named = os.environ.get("SLUICE_CACHE")
    if named:
        return Path(named).expanduser().resolve()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return caches.absolute() / "sluice"


def checkout_name() -> str:
    """A name that tells this checkout's running stack from others': they share the cache folder."""
    return f"{ROOT.name}-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]}"
