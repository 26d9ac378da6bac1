"""Runs one attempt of a DeltaWriteJob inside a Spark driver and reports what came of it.

It never imports the operator: an image of last month must run under the operator of today, and what the two say to
each other is the plan (arguments) and the result (termination log) alone.
"""
