"""Runs one attempt of a DeltaWriteJob inside a Spark driver and reports the outcome.

It never imports the operator: last month's image must run under today's operator, and the two exchange only the plan
(arguments) and the result (termination log).
"""

__version__ = "0.1.0"
