"""The protocol's steps as switches: a mutation is the design with one of them taken out."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Design:
    # Grant
    version_compared: bool = True  # the grant script refuses when a table's version moved since the decision
    decision_void_after_change: bool = (
        True  # with the version as the leader left it, not as the decision saw it
    )
    version_marked: bool = (
        True  # by the change that made it, so that an old count reached again isn't the same
    )
    epoch_compared: bool = True  # every Redis script refuses another epoch than its caller's
    grant_idempotent: bool = True  # the same grant asked for twice is the same grant
    grant_names_decision: bool = True  # the same is: decided on the same version, not just for the same job
    release_by_token: bool = True  # a release names the grant, not only the job and attempt
    intent_before_create: bool = True
    intent_precondition: bool = True  # the intent's patch holds the resourceVersion of the decision
    own_application_known: bool = True  # a 409 of an application with another token isn't ours
    unanswered_create_counts: bool = (
        True  # a refused one is withdrawn at once only if no other may still land
    )
    # Takeover
    epoch_from_everywhere: bool = True  # not from the Lease object alone
    redis_epoch_counts: bool = True
    rebuild_raises_epoch: bool = True  # Redis refuses one that isn't above its own
    policy_on_creates: bool = True
    policy_on_status: bool = True
    policy_on_finalizers: bool = True
    floor_raised: bool = True  # the policy's parameter goes up before the new leader lists
    probed: bool = True  # and is seen to be in force before it lists
    intents_mended: bool = True  # an intent without its application is made good or withdrawn
    uncovered_taken_back: bool = True  # an intent that no lease in Redis covers is not made good
    roll_forward: bool = True  # by the same create, not withdrawn
    withdraw_if_edited: bool = True  # unless the spec is no longer what was leased
    intents_listed_first: bool = True
    tombstones_listed_last: bool = True
    # An API server that went back
    api_going_back_noticed: bool = True
    unexplained_held: bool = True  # leases of which only Redis knows stay until a person revokes them
    unexplained_remembered: bool = True  # also by a later leader
    uncovered_ended: bool = True  # an application that came back, and whose lease was released, is ended
    # Release
    hands_counted: bool = True  # the sweep spares what this leader is about to use
    own_writes_seen: bool = True  # and what it has written, also where its watch doesn't show that yet
    # Amnesia
    amnesia_noticed: bool = True
    # One leader, several requests under way
    redis_in_order: bool = True  # one grant or release at a time
    granted_counts: bool = True  # from the answer on, whether its intent is written or not
    one_worker_a_job: bool = True
    rebuild_waits: bool = True  # until nothing of this leader is under way
    release_looks_again: bool = True  # right before it is sent
    # End and delete
    finalizers: bool = True
    death_proved: bool = True  # a terminal application alone frees nothing
    phase_is_no_proof: bool = True  # PodGC's Failed isn't state.terminated
    gone_is_no_proof: bool = True  # nor is it that the pod of a driver that was there is gone
    word_names_loss: bool = True  # a person's word counts for a loss that was told, not for any that comes
    driver_is_its_uid: bool = True  # nor does another pod tell of it that bears its name
    stripped_counts: bool = True  # without our finalizers, too, a driver holds its lease
    terminated_and_ended: bool = (
        True  # a terminated driver alone is no proof while its application may start another
    )
    gated_and_over: bool = True  # nor is a driver's name that is taken, while its application may try again
    driverless_ended: bool = True  # the name of a failed application's driver is taken
    name_occupied: bool = True
    proof_goes_last: bool = True  # the terminated driver's finalizer comes off after its application's
    placeholder_kept: bool = True  # the gated pod stays while a submission may be under way
    placeholder_held: bool = True  # by a finalizer: who deletes it does not free the driver's name
    tombstone_first: bool = True  # before the finalizers go
    epoch_step_after_unsure_create: bool = True
    hold_if_not_fenceable: bool = True
    success_tells_of_fence: bool = True  # that a retry has ended doesn't: it may have died before
    # Fence and retry
    fence: bool = True  # a retry begins with one
    fence_before_log: bool = True
    fence_every_table: bool = True
    versions_from_token: bool = True  # not from what the log's highest version was when the driver started
    missing_table_unfenceable: bool = True
    later_statement_counts: bool = True
    skip_noticed: bool = True
    spec_hash_in_stamp: bool = True
    closing_append: bool = True
    closing_carries_hash: bool = True
    lost_history_refused: bool = True  # a version without its stamp proves nothing
    fence_tells_replaced: bool = True  # its stamp names the version before it
    fence_tells_look: bool = True  # and the table's version when it looked: from there the log must be whole
    set_transactions_kept: bool = True  # their retention outlives every driver
    successor_waits: bool = True  # a run key or slot changes hands after death or fence
    retry_keeps_slot: bool = True
    tokens_survive_backup: bool = (
        True  # the clock raises the epoch, too: a restored operator uses no token again
    )
    # Pause
    pause_written_first: bool = True  # into the stream's status, before its driver is told to stop
    stop_written_again: bool = True  # by whoever leads, as long as the status says so and the pod doesn't
    stop_under_uid: bool = True  # of the attempt's own pod
    stop_carries_epoch: bool = True
    stop_at_boundary: bool = True  # between two batches
    turn_first: bool = True  # a stream is asked once it has ended a batch, or found nothing to do
    pause_proved: bool = True  # its leases go when its driver's end is proved, not when it is asked
    paused_outcome_first: bool = True  # they go when its status tells of that end
    resume_waits: bool = True  # until those for whom it paused have ended, or wait no more
    resume_is_an_attempt: bool = True  # another one, with a token and a driver of its own
    pause_bounded: bool = True
    begins_in_time: bool = True  # who has not begun by the last quarter of a pause gives way
    checkpoint_stays: bool = True  # its job's, also while that holds no lease
    batch_ids: bool = True  # a table's log knows the batches that are done


DESIGN = Design()
