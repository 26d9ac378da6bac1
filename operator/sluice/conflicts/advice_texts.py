"""Advice that the rules of several engines give, in one wording: `sluice plan` counts the pairs that a piece of advice helps by
its text, and of one pair each is told once."""


def run_alone(operation: str) -> str:
    return f"run {operation} when no other job writes the table"


RUN_ALONE = run_alone("it")
CHANGES_APART = "put several changes of properties into one ALTER TABLE"
CREATE_FIRST = "create the table first: run CREATE TABLE IF NOT EXISTS in a job of its own"
BIND_THE_NAME = "may be one table: bind the name to its path in a DeltaTablePolicy"
PAUSE_STREAM = "let the stream pause for it: set spec.stream.yield: Metadata"
WITH_VECTORS = "enable deletion vectors on the table, and remove ZORDER BY"
SKIP_CHANGES = (
    'if the stream can skip such changes, set skipChangeCommits: "true" under spec.stream.source.options'
)
END_STREAM = "end the stream first, and begin another one with a new checkpoint after it"
OWN_CHECKPOINT = "give each stream a checkpoint of its own"
LET_IT_WAIT = "let what made that commit run as a DeltaWriteJob, too, or at another time: Sluice keeps only its own jobs apart"
OWN_TXN_APP_ID = "give each job a txnAppId of its own"
OTHERS_OWN_TXN_APP_ID = (
    "let what made that commit use another txnAppId: what is committed under this job's counts as this job's, and those that begin "
    "with sluice/ are Sluice's"
)
