"""What each command's help ends with: how it is called, and what its exit codes mean."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import typer

from sluice.cli.outputs import Exit, JobExit


@dataclass(frozen=True)
class Epilog:
    example: str
    codes: dict[int, str]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"Example: {self.example}"
        yield "Exit codes:"
        for code, means in sorted(self.codes.items()):
            yield f"{code:3}  {means}"


_Codes = dict[int, str]

_WRONG: _Codes = {Exit.USAGE: "it was called wrongly: nothing was done"}
_ANSWERED: _Codes = {Exit.OK: "answered"} | _WRONG
_OF_FILES: _Codes = _ANSWERED | {Exit.INCOMPLETE: "something given could not be used; the rest was answered"}
_NO_JOB: _Codes = {
    Exit.INCOMPLETE: "something given could not be used, or holds nothing to answer about; the rest was answered"
}
_JUDGED: _Codes = _OF_FILES | {
    Exit.OK: "answered, also if jobs conflict",
    Exit.FOUND: "a verdict is as bad as --fail-on says, or worse",
}
_OF_CLUSTER: _Codes = _ANSWERED | {Exit.REFUSED: "the cluster or its Redis could not be asked, or refused"}
_STOPPED: _Codes = {JobExit.STOPPED + 2: "stopped by Ctrl-C", JobExit.STOPPED + 15: "stopped by SIGTERM"}
_FOLLOWED: _Codes = (
    _OF_CLUSTER
    | _STOPPED
    | {
        JobExit.SUCCEEDED: "every job succeeded, or was skipped",
        JobExit.FAILED: "a job failed",
        JobExit.TIMED_OUT: "the time of --timeout is up: some go on",
        JobExit.SKIPPED: "with --fail-on-skip: a job was skipped",
        JobExit.DELETED: "a job was deleted, and nobody saw it end",
    }
)
_CHANGED: _Codes = _OF_CLUSTER | {Exit.OK: "done, or there was nothing to do"}
_CONFIRMED: _Codes = _CHANGED | {Exit.USAGE: "it was called wrongly, or without --yes: nothing was done"}

EPILOGS: Mapping[str, Epilog] = {
    "explain": Epilog("sluice explain jobs/merge.yaml jobs/delete.yaml --table tables/orders.yaml", _JUDGED),
    "plan": Epilog("sluice plan jobs/ tables/ --fail-on will", _JUDGED | _NO_JOB),
    "footprint": Epilog("sluice footprint jobs/merge.yaml", _OF_FILES | _NO_JOB),
    "simulate": Epilog("sluice simulate trace.yaml", _OF_FILES),
    "completion": Epilog("sluice completion bash", _ANSWERED),
    "run": Epilog("sluice run jobs/backfill.yaml -n team --timeout 2h", _FOLLOWED),
    "wait": Epilog("sluice wait backfill -n team --for Running", _FOLLOWED),
    "logs": Epilog("sluice logs backfill -n team -f", _OF_CLUSTER | _STOPPED),
    "suspend": Epilog(
        "sluice suspend -n team -l pipeline=nightly", _CHANGED | {Exit.FOUND: "a job runs already"}
    ),
    "resume": Epilog("sluice resume -n team -l pipeline=nightly", _CHANGED),
    "retry": Epilog(
        "sluice retry backfill -n team --wait",
        _FOLLOWED
        | {
            Exit.OK: "asked for; with --wait: every job succeeded",
            Exit.FOUND: "a job can't be tried again, or failed",
        },
    ),
    "queue": Epilog("sluice queue lake.sales.orders -n team", _OF_CLUSTER),
    "bundle": Epilog(
        "sluice bundle backfill -n team", _OF_CLUSTER | {Exit.INCOMPLETE: "the file could not be written"}
    ),
    "render": Epilog(
        "sluice render jobs/backfill.yaml",
        _OF_CLUSTER | {Exit.INCOMPLETE: "the operator would refuse the job"},
    ),
    "status": Epilog("sluice status -n sluice", _OF_CLUSTER | {Exit.FOUND: "something is wrong"}),
    "doctor": Epilog("sluice doctor -n sluice", _OF_CLUSTER | {Exit.FOUND: "a check failed"}),
    "adopt": Epilog("sluice adopt --config sluice.yaml --yes", _CONFIRMED),
    "leases list": Epilog(
        "sluice leases list -n sluice",
        _OF_CLUSTER | {Exit.INCOMPLETE: "its Redis could not be asked: what the cluster tells is shown"},
    ),
    "leases revoke": Epilog("sluice leases revoke 0b71c0de/1 --config sluice.yaml --yes", _CONFIRMED),
}


def add_epilogs(app: typer.Typer, group: str = "") -> None:
    for command in app.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "")
        if (epilog := EPILOGS.get(f"{group}{name}")) is not None:
            command.epilog = str(epilog)
        paragraph = (inspect.getdoc(command.callback) or "").partition("\n\n")[0]
        command.short_help = " ".join(
            paragraph.split()
        )  # else the list of commands breaks lines where the source does
    for below in app.registered_groups:
        if below.typer_instance is not None and isinstance(below.name, str):
            add_epilogs(below.typer_instance, f"{group}{below.name} ")
