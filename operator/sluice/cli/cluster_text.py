"""Writes what commands against a cluster show people."""

from typing import Any

from rich.console import Console


def adoption(found: dict[str, Any], out: Console) -> None:
    out.print(f"Redis {found['redis']} keeps the leases of {found['from'] or 'nobody'}.")
    out.print(f"This is installation {found['installation']}.")
    for lease in found["leases"]:
        out.print(f"  lease {lease['holder']} of job {lease['job']} on {', '.join(lease['tables'])}")
    for key in found["staleClaims"]:
        out.print(f"  claim {key}, whose installation is no longer running")
