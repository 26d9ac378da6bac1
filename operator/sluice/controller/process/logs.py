"""Logs: one JSON object a line in a cluster, readable lines on a terminal."""

import logging
import sys
from datetime import UTC, datetime

from sluice.api.json_text import as_json


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return as_json(entry)


def configure(*, verbose: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    terminal = sys.stderr.isatty()
    handler.setFormatter(
        logging.Formatter("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")
        if terminal
        else JsonFormatter()
    )
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler], force=True)
    logging.getLogger("kopf").setLevel(logging.DEBUG if verbose else logging.WARNING)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    # It quotes users' statements. What isn't understood is said with its place, in the job's status.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    logging.captureWarnings(capture=True)
