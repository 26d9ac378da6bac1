"""`sluice retry` beside a running operator."""

import json
from pathlib import Path

from integration.operator.accounts import Rule, kubeconfig_with
from integration.operator.played import Played, append, lost_a_race
from integration.operator.process import sluice, typed
from sluice.api import names


def test_a_failed_job_has_one_more_attempt_and_is_followed_to_its_end(
    shared: Played, kubeconfig: Path, tmp_path: Path
) -> None:
    """And whoever asks for it needs no more than the documented rights."""
    shared.apply("tried-again", append("/lake/tried-again", runKey="tried-again/1"))
    shared.start("tried-again").ends(1, lost_a_race())
    before = shared.reaches("tried-again", "Failed")
    job = f"{shared.namespace}/tried-again"
    rights: Rule = (names.GROUP, "get list watch patch", {names.JOB_PLURAL: []})
    with (
        kubeconfig_with(kubeconfig, shared.namespace, tmp_path, rights) as own,
        typed(own, tmp_path, "retry", job, "--wait") as command,
    ):
        command.says("another attempt after number 1 is asked for")
        command.says("Starting")
        shared.start("tried-again").succeeds("file:/lake/tried-again", 6)
        assert command.ends() == 0, command.stderr
    assert command.stdout.startswith(f"{job} Succeeded")
    status = shared.reaches("tried-again", "Succeeded")
    assert [one["number"] for one in status["attempts"]] == [1, 2]
    assert status["queuedAt"] == before["queuedAt"], "it keeps its age"
    over = sluice(kubeconfig, "retry", job, "-o", "json")
    assert over.returncode == 1, over.stderr
    [told] = json.loads(over.stdout)
    assert (told["result"], told["phase"]) == ("Refused", "Succeeded")


def test_what_cannot_be_tried_again_is_refused_and_an_operator_that_refuses_ends_the_wait(
    shared: Played, kubeconfig: Path
) -> None:
    shared.apply("never-begun", {"sql": "DELETE FROM"})
    shared.reaches("never-begun", "Failed")
    never = sluice(kubeconfig, "retry", "never-begun", "no-such-job", "-n", shared.namespace)
    assert (never.returncode, never.stdout) == (4, "")
    assert f"{shared.namespace}/never-begun: has failed without an attempt" in never.stderr
    assert f"{shared.namespace}/no-such-job: there is no such job" in never.stderr
    shared.apply("may-have-written", append("/lake/may-have-written"))
    shared.start("may-have-written").ends(1)
    shared.reaches("may-have-written", "Failed")
    job = f"{shared.namespace}/may-have-written"
    done = sluice(kubeconfig, "retry", job, "--wait", "--timeout", "1m")
    assert done.returncode == 1, done.stderr
    assert "the operator starts no other attempt; an Event (NotRetried) says why" in done.stderr
    again = sluice(kubeconfig, "retry", job, "--wait", "--timeout", "1m")
    assert again.returncode == 1, again.stderr
    assert "the operator starts no other attempt" in again.stderr
    assert shared.status("may-have-written")["retryAsked"] == "1.2"
