"""Reads from a job's manifest what the job touches, before anything runs."""

from sluice.footprint.days import Days, days_of
from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.job import footprint_of, texts_of, touching_all
from sluice.footprint.model import (
    EVERYTHING,
    NOTHING,
    Follows,
    JobFootprint,
    Metadata,
    ProtocolChange,
    TableFootprint,
    unknown_footprints,
)
from sluice.footprint.sources import ANY_SOURCES, NO_SOURCES
from sluice.footprint.sql.parameters import condition_with, promise_at, text_of
from sluice.footprint.sql.settings import refused_settings
from sluice.footprint.sql.statement_splitter import Statement, split
from sluice.footprint.statements.micro_batch import reads_no_batch
from sluice.footprint.write import Texts

__all__ = [
    "ANY_SOURCES",
    "EVERYTHING",
    "NOTHING",
    "NO_SOURCES",
    "Days",
    "Follows",
    "JobFootprint",
    "Metadata",
    "NotUnderstoodError",
    "ProtocolChange",
    "Statement",
    "TableFootprint",
    "Texts",
    "condition_with",
    "days_of",
    "footprint_of",
    "promise_at",
    "reads_no_batch",
    "refused_settings",
    "split",
    "text_of",
    "texts_of",
    "touching_all",
    "unknown_footprints",
]
