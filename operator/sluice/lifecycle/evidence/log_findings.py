"""What tables' logs tell of an attempt that has ended, in words."""

from dataclasses import dataclass

from sluice.api.job_status import Commit
from sluice.lifecycle.spec.footprint_violations import FootprintSaid

_MOST_NAMED = 5
HOW_TO_TELL = "sluice_runner.attempt in its code would tell (docs/applications.md)"


@dataclass(frozen=True)
class LogFindings:
    commits: tuple[Commit, ...] = ()
    unread: tuple[str, ...] = ()
    """Why the log of a table could not be asked."""
    of_application: bool = False
    """Whether a user's own application ran, of whose end the exit code tells."""
    unstamped: tuple[str, ...] = ()
    """Commits of the time when the application ran that bear nobody's stamp: they may be its own."""
    footprint: FootprintSaid | None = None
    """Whether the application kept to its footprint."""

    @property
    def tell_of_nothing(self) -> bool:
        """Whether it is known that nothing was committed."""
        return not (self.commits or self.unread or self.unstamped)

    def __str__(self) -> str:
        if self.unread:
            more = f" beside {versions(self.commits)}" if self.commits else ""
            return f"what it committed{more} is not known: {'; '.join(self.unread)}"
        if self.unstamped and not self.commits:
            return f"what it committed is not known: no commit bears its stamp, and {self._unstamped}: {HOW_TO_TELL}"
        beside = f"; {self._unstamped}" if self.unstamped else ""
        if self.commits:
            return f"it had committed {versions(self.commits)}, according to the tables' logs{beside}"
        return "it had committed nothing, according to the tables' logs"

    @property
    def beside_the_report(self) -> str:
        """What they tell beside what the driver has reported; `commits` are those that it hasn't."""
        found = ""
        if self.commits:
            found += f"; beside that it had committed {versions(self.commits)}, according to the tables' logs"
        if self.unread:
            found += f"; what it committed outside of its report is not known: {'; '.join(self.unread)}"
        if self.unstamped:
            found += f"; {self._unstamped}"
        return found

    @property
    def _unstamped(self) -> str:
        more = len(self.unstamped) - _MOST_NAMED
        named = ", ".join(self.unstamped[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"without any stamp somebody committed {named} meanwhile"


def versions(commits: tuple[Commit, ...]) -> str:
    by_table: dict[str, list[int]] = {}
    for commit in commits:
        by_table.setdefault(commit.table, []).append(commit.version)
    return ", ".join(
        f"version{'s' if len(found) > 1 else ''} {', '.join(map(str, found))} of {table}"
        for table, found in by_table.items()
    )
