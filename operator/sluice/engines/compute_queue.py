"""What a job's metadata says to whoever hands out compute: it is passed on to its application and its pods, where Kueue, YuniKorn
and Volcano read it."""

from collections.abc import Mapping

PREFIXES = ("kueue.x-k8s.io/", "yunikorn.apache.org/", "scheduling.volcano.sh/", "volcano.sh/")
NAMES = ("queue",)
"""YuniKorn's older label."""


def passed_on(given: Mapping[str, str] | None) -> dict[str, str]:
    """Returns those labels or annotations; everything else a job bears is its own."""
    return {name: text for name, text in (given or {}).items() if name.startswith(PREFIXES) or name in NAMES}
