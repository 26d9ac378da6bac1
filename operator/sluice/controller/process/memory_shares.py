"""Shares the memory of a container out to the operator and its child processes, so that all of them fit in together."""

from dataclasses import dataclass

USUAL_MIB = 1024
"""Of a container with the chart's limit. Also counts where nothing limits the container."""
_PARTS = 128
_OPERATOR, _TABLE_PROCESS, _SPEC_PROCESS = 39, 24, 16
"""Of that many parts. There are three processes for tables and one for specs: one part is left."""


@dataclass(frozen=True)
class MemoryShares:
    """In MiB."""

    operator: int
    """The operator's own memory, which no limit of its own holds: 10,000 waiting and as many finished jobs need 302 MiB."""
    table_process: int
    """Reading small tables takes 50 MiB, and 120 MiB for sixteen at once. Each file of a table takes 0.6 KiB more."""
    spec_process: int
    """The largest texts of each kind take 113 MiB at most."""

    @classmethod
    def of(cls, container_mib: int | None) -> "MemoryShares":
        part = (container_mib or USUAL_MIB) / _PARTS
        return cls(int(_OPERATOR * part), int(_TABLE_PROCESS * part), int(_SPEC_PROCESS * part))
