"""Advice that the rules of several engines give, in one wording: `sluice plan` counts the pairs that a piece of advice helps by
its text, and of one pair each is told once."""

RUN_ALONE = "run it when no other job writes the table"
CREATE_FIRST = "create the table first: run CREATE TABLE IF NOT EXISTS in a job of its own"
PAUSE_STREAM = "let the stream pause for it: set spec.stream.yield: Metadata"
OWN_TXN_APP_ID = "give each job a txnAppId of its own"
