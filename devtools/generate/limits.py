"""How large a job's texts may be, from the module that has all these numbers."""

import ast
import inspect
import re
from collections.abc import Iterator
from itertools import pairwise

from sluice.api.sql import SQL_BYTES
from sluice.controller.process.memory_shares import MemoryShares
from sluice.controller.readers.spec_reader import CPU_SECONDS
from sluice.predicates import limits

MEMORY_MIB = MemoryShares.of(None).spec_process
HEADER = f"""<!-- Generated from operator/sluice/predicates/limits.py by `./dev generate`: change that file, not this one. -->
# How large a job's texts may be

The operator reads each job's texts before anything runs. All that reading costs has a limit, and each limit is asked before the
cost is spent. The limits count, and never look at a clock: the same text always gets the same answer, from the operator and from
`sluice plan`. A process beside the operator reads specs of more than 2,500 characters, of 1,250 where a table has 500 columns, and
so on, so that other jobs do not wait for them.
The process has limits, too: [an eighth of the container's memory](operations.md#how-much-memory-the-operator-takes), which is
{MEMORY_MIB} MiB with the chart's limit, and {CPU_SECONDS} s of CPU for one spec. The operator refuses a job that
exceeds them twice.

A job that is refused fails as `NotUnderstood`, with the field, the limit and what to do. What *may touch all of its table* is read
no further: the job runs, and waits for all other writers of that table.

A text of SQL has at most {SQL_BYTES // 1024} KiB, and [api.md](api.md) has the lengths of all other fields.
"""
_SECTION = re.compile(r"# -+ (.+)")


def render() -> str:
    source = inspect.getsource(limits)
    sections = {number: found[1] for number, line in _lines(source) if (found := _SECTION.fullmatch(line))}
    written = [HEADER]
    for begin, title in sections.items():
        end = min((number for number in sections if number > begin), default=len(source))
        rows = [row for number, row in _rows(source) if begin < number < end]
        written.append(
            f"\n## {title.capitalize()}\n\n| at most | of what, and beyond that |\n| --- | --- |\n"
        )
        written += rows
    return "".join(written)


def _lines(source: str) -> Iterator[tuple[int, str]]:
    return enumerate(source.splitlines(), start=1)


def _rows(source: str) -> Iterator[tuple[int, str]]:
    """Each number with the line that it is on: what stands below it in the module is what it means."""
    for statement, below in pairwise(ast.parse(source).body):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Constant):
            continue
        number, meaning = statement.value.value, ast.literal_eval(ast.unparse(below))
        assert isinstance(number, int)  # noqa: S101 - such is each limit
        yield statement.lineno, f"| {number:,} | {meaning} |\n"
