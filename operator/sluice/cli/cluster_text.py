"""Writes what commands against a cluster show people."""

from typing import Any

from rich.console import Console
from rich.table import Table


def leases(found: list[dict[str, Any]], out: Console, *, all_of_them: bool) -> None:
    if found:
        table = Table("HOLDER", "JOB", "TABLES", "EXPLAINED", box=None, pad_edge=False)
        for one in found:
            explained = "no: held until it is revoked" if one["unexplained"] else "yes"
            table.add_row(one["holder"], one["job"], "\n".join(one["tables"]), explained)
        out.print(table)
    else:
        out.print("no leases are held" if all_of_them else "no unexplained leases are held")


def adoption(found: dict[str, Any], out: Console) -> None:
    out.print(f"Redis {found['redis']} keeps the leases of {found['from'] or 'nobody'}.")
    out.print(f"This is installation {found['installation']}.")
    for lease in found["leases"]:
        out.print(f"  lease {lease['holder']} of job {lease['job']} on {', '.join(lease['tables'])}")
    for key in found["staleClaims"]:
        out.print(f"  claim {key}, whose installation is no longer running")
