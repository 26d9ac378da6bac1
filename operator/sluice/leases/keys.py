"""The keys under which a deployment's lease table is kept in Redis."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Keys:
    deployment: str

    @property
    def prefix(self) -> str:
        """One hash tag: one slot of a cluster holds all keys."""
        return f"sluice:{{{self.deployment}}}"

    @property
    def epoch(self) -> str:
        return f"{self.prefix}:epoch"

    @property
    def leases(self) -> str:
        return f"{self.prefix}:leases"

    @property
    def installation(self) -> str:
        return f"{self.prefix}:installation"

    @property
    def counter(self) -> str:
        """Of the grants since the last rebuild."""
        return f"{self.prefix}:counter"

    @property
    def beat(self) -> str:
        return f"{self.prefix}:beat"

    @property
    def adopted(self) -> str:
        return f"{self.prefix}:adopted"

    @property
    def all(self) -> list[str]:
        """All keys, in the order in which the scripts number them."""
        versions, builder, rights = (f"{self.prefix}:{name}" for name in ("versions", "builder", "rights"))
        return [
            self.epoch,
            self.counter,
            versions,
            self.leases,
            builder,
            self.installation,
            self.beat,
            self.adopted,
            rights,
        ]
