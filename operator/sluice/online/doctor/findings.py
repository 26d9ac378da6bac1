"""What a check of an installation finds: one line, with what to do."""

from dataclasses import dataclass
from enum import StrEnum


class FindingLevel(StrEnum):
    OK = "ok"
    WARN = "warn"
    """Jobs run, or it could not be found out."""
    FAIL = "fail"
    """Jobs do not run, or some of them do not."""


@dataclass(frozen=True)
class Finding:
    check: str
    subject: str
    level: FindingLevel
    message: str
    cure: str = ""


@dataclass(frozen=True)
class Examination:
    findings: tuple[Finding, ...]
    unseen: str | None = None
    """Why its cluster let nothing of the installation be seen; None: it did."""

    @property
    def fails(self) -> bool:
        return any(one.level is FindingLevel.FAIL for one in self.findings)

    @property
    def is_well(self) -> bool:
        return not self.fails and self.unseen is None


def ok(check: str, subject: str, message: str) -> Finding:
    return Finding(check, subject, FindingLevel.OK, message)


def warn(check: str, subject: str, message: str, cure: str = "") -> Finding:
    return Finding(check, subject, FindingLevel.WARN, message, cure)


def fail(check: str, subject: str, message: str, cure: str = "") -> Finding:
    return Finding(check, subject, FindingLevel.FAIL, message, cure)
