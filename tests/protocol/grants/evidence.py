"""What the API server's objects tell of an attempt, never what really runs."""

from protocol.design import Design
from protocol.grants.state import Run


def application_tells(run: Run, design: Design) -> bool:
    """That its lease must stay: by our finalizer, and without it, too, as long as it may start a driver."""
    if run.app == "gone":
        return False
    may_start = run.app != "ended" and not run.deleting and run.pod == "none"
    return run.held or (may_start and design.stripped_counts)


def pod_tells(run: Run, design: Design) -> bool:
    """A driver that runs is a driver, whoever took our finalizer off its pod."""
    return run.pod_held or (run.pod == "running" and design.stripped_counts)


def tells(run: Run, design: Design) -> bool:
    return application_tells(run, design) or pod_tells(run, design) or run.tombstone


def proved_ended(run: Run, design: Design) -> bool:
    """Nothing of this run can write any more."""
    submits_no_more = run.app in ("ended", "gone")
    speaks = run.pod == "terminated" or (run.pod == "forged" and not is_missing(run, design))
    if speaks or (run.pod == "lost" and not design.phase_is_no_proof):
        return submits_no_more or (run.deleting and run.told) or not design.terminated_and_ended
    if run.pod == "gated":
        return submits_no_more or run.deleting or not design.gated_and_over
    is_said = run.word == "given" or (run.early and not design.word_names_loss)
    return is_missing(run, design) and is_said


def is_missing(run: Run, design: Design) -> bool:
    """A driver was there, its pod is gone, and nothing tells how it ended: no other pod of its name either."""
    is_gone = run.pod == "none" or (run.pod == "forged" and design.driver_is_its_uid)
    return is_gone and run.told and run.app != "gone" and design.gone_is_no_proof
