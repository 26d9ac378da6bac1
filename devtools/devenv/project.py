"""Where things are: the checkout, the cache folder, and the folder shared beside the checkout."""

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


def shared_folder() -> Path | None:
    """Reference data that only some checkouts have beside them; tests that want it say so when it's absent."""
    beside = ROOT.parent / "shared"
    return beside if beside.is_dir() else None


def checkout_name() -> str:
    """Tells one checkout's running stack from another's: they share the cache folder."""
    return f"{ROOT.name}-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]}"
