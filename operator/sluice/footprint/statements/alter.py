"""ALTER TABLE and COMMENT ON, judged by what their commit carries: metadata, protocol, or a metadata domain."""

import re
from dataclasses import replace
from itertools import pairwise

from sluice.api.job import Operation
from sluice.footprint.model import EVERYTHING, NOTHING, Metadata, ProtocolChange, TableFootprint
from sluice.footprint.regions import because
from sluice.footprint.sql.keywords import QUOTED, properties, words
from sluice.footprint.sql.statement_context import StatementContext
from sluice.footprint.sql.word_patterns import (
    DEFAULT,
    GROUP,
    NAME,
    NAMES,
    PROPERTIES_NAMED,
    PROPERTIES_SET,
    STRING,
    TYPE,
    WORD,
)
from sluice.footprint.statements.insert import CLUSTERING, refuse_unknown
from sluice.footprint.statements.maintenance import DATA_RETENTION, hours_kept_by, hours_set_by

ENABLING = {
    "delta.enabledeletionvectors": ("true", "deletionVectors"),
    "delta.enablerowtracking": ("true", "rowTracking"),
    "delta.columnmapping.mode": ("name", "columnMapping"),
    "delta.checkpointpolicy": ("v2", "v2Checkpoint"),
    "delta.enableincommittimestamps": ("true", "inCommitTimestamp"),
}
"""Settings that enable a feature; later versions of Delta let others commit then."""
_OF_TIMESTAMPS = ("delta.enableincommittimestamp", "delta.incommittimestamp")

AFTER_COMMENT = f"IS (?:{STRING}|NULL)"
_PLACE = rf"FIRST|AFTER {NAME}"
_COLUMN = rf"{NAME} :? ?{TYPE}(?: (?:NOT NULL|COMMENT {STRING}|{DEFAULT}|{_PLACE}))*"
_COLUMNS = rf"{_COLUMN}(?: , {_COLUMN})*"
_CHANGED = (
    rf"TYPE {TYPE}|COMMENT {STRING}|{_PLACE}|(?:SET|DROP) NOT NULL|SET {DEFAULT}|DROP DEFAULT|SYNC IDENTITY"
)
AFTER_ALTER = "|".join(
    [
        rf"SET TBLPROPERTIES {PROPERTIES_SET}",
        rf"UNSET TBLPROPERTIES (?:IF EXISTS )?{PROPERTIES_NAMED}",
        rf"ADD COLUMNS? (?:\( {_COLUMNS} \)|{_COLUMNS})",
        rf"DROP COLUMNS? (?:IF EXISTS )?(?:\( {NAMES} \)|{NAMES})",
        rf"RENAME COLUMN {NAME} TO {WORD}",
        rf"ALTER (?:COLUMN )?{NAME} (?:{_CHANGED})(?: , {NAME} (?:{_CHANGED}))*",
        rf"CHANGE (?:COLUMN )?{NAME} (?:{WORD} {TYPE}(?: COMMENT {STRING})?(?: (?:{_PLACE}))?|{_CHANGED})",
        rf"REPLACE COLUMNS (?:\( {_COLUMNS} \)|{_COLUMNS})",
        rf"ADD CONSTRAINT {WORD} CHECK {GROUP}",
        rf"DROP CONSTRAINT (?:IF EXISTS )?{WORD}",
        rf"DROP FEATURE {WORD}(?: TRUNCATE HISTORY)?",
        rf"CLUSTER BY (?:NONE|AUTO|\( {NAMES} \))",
    ]
)
_OF_NO_COLUMN = frozenset(
    {
        "delta.appendonly",
        "delta.checkpointinterval",
        "delta.checkpointpolicy",
        "delta.dataskippingnumindexedcols",
        "delta.dataskippingstatscolumns",
        "delta.deletedfileretentionduration",
        "delta.enablechangedatafeed",
        "delta.enabledeletionvectors",
        "delta.enableincommittimestamps",
        "delta.enablerowtracking",
        "delta.enabletypewidening",
        "delta.isolationlevel",
        "delta.logretentionduration",
    }
)
"""Delta's own properties whose change leaves the fields of all columns as they are."""
_ONLY_WRITTEN = ("delta.feature.", "delta.minreaderversion", "delta.minwriterversion")
_CHANGE_FEED = "delta.enablechangedatafeed"
_MAPPING = "delta.columnmapping.mode"
_RETENTION = DATA_RETENTION.lower()
_CHANGES = (
    ("ADD", "COLUMN"),
    ("ADD", "COLUMNS"),
    ("ADD", "("),
    ("RENAME", "COLUMN"),
    ("DROP", "COLUMN"),
    ("DROP", "COLUMNS"),
)
_NAMES = frozenset({("RENAME", "COLUMN"), ("DROP", "COLUMN"), ("DROP", "COLUMNS"), ("REPLACE", "COLUMNS")})
"""What takes a column its name, or a name its column."""
_MAY_FORGET_COLUMNS = (["COLUMNMAPPING"], ["TYPEWIDENING"], [QUOTED])
"""Without the first columns have other names in the files, as when the property is unset; without the second nothing says that a
column's type was another one, so that who has yet to read past that change never does."""
_PLAIN_TYPE = r"(?:BOOLEAN|TINYINT|SMALLINT|INT|INTEGER|BIGINT|FLOAT|DOUBLE|STRING|BINARY|DATE)"
_PLAIN_COLUMN = rf"\S+ {_PLAIN_TYPE}(?: COMMENT {re.escape(QUOTED)})?"
_PLAIN_COLUMNS = re.compile(rf"ADD COLUMNS? ?\(? ?{_PLAIN_COLUMN}(?: , {_PLAIN_COLUMN})*(?: \))?")
"""Added columns that need no feature of the protocol: plain types with nothing but a comment."""
_MAY_CHANGE = (
    ("ALTER",),
    ("CHANGE",),
    ("REPLACE", "COLUMNS"),
    ("DROP", "CONSTRAINT"),
    ("SET", "TBLPROPERTIES"),
)


def alter(reading: StatementContext) -> TableFootprint:  # noqa: PLR0911 - one kind a line
    rest = " ".join(words(reading.statement.tokens[reading.end :])).split()
    if rest[:2] == ["SET", "TBLPROPERTIES"]:
        return _set_properties(reading)
    if rest[:2] == ["UNSET", "TBLPROPERTIES"]:
        return _unset_properties(reading)
    if rest[:2] == ["CLUSTER", "BY"]:
        return _cluster_by(reading)
    if rest[:2] == ["ADD", "CONSTRAINT"]:
        return reading.footprint(
            Operation.ALTER,
            adds=NOTHING,
            removes=NOTHING,
            metadata=Metadata.CHANGES,
            protocol=ProtocolChange.MAY_ADD,
            keeps_partition_columns=True,
            reads=because(EVERYTHING, "a new constraint is checked against all rows"),
        )
    if rest[:2] == ["DROP", "FEATURE"]:
        return reading.footprint(
            Operation.ALTER,
            metadata=Metadata.MAY_CHANGE,
            protocol=ProtocolChange.REMOVES,
            single_attempt=False,
            ends_readers=rest[2:3] in _MAY_FORGET_COLUMNS,
        )
    if rest[-2:] == ["SYNC", "IDENTITY"]:
        return reading.footprint(Operation.ALTER, adds=NOTHING, removes=NOTHING, metadata=Metadata.IDENTITY)
    names = tuple(rest[:2]) in _NAMES
    keeps = rest[0] == "ADD" or rest[:2] == ["DROP", "CONSTRAINT"] or _names_no_partition_column(reading)
    if rest[:1] == ["DROP"] and rest[2:4] == ["IF", "EXISTS"]:
        return _metadata_only(reading, Metadata.MAY_CHANGE, ends_readers=names, keeps_partition_columns=keeps)
    for beginning in _CHANGES:
        if tuple(rest[: len(beginning)]) == beginning:
            needs_feature = rest[0] == "ADD" and _PLAIN_COLUMNS.fullmatch(" ".join(rest)) is None
            protocol = ProtocolChange.MAY_ADD if needs_feature else ProtocolChange.NONE
            return _metadata_only(
                reading, Metadata.CHANGES, protocol, ends_readers=names, keeps_partition_columns=keeps
            )
    for kind in _MAY_CHANGE:
        if tuple(rest[: len(kind)]) == kind:
            protocol = ProtocolChange.MAY_ADD if "TYPE" in rest or "DEFAULT" in rest else ProtocolChange.NONE
            return _metadata_only(
                reading,
                Metadata.MAY_CHANGE,
                protocol,
                ends_readers=names or rest[0] == "CHANGE",
                keeps_partition_columns=keeps,
            )
    raise reading.refused(
        f"ALTER TABLE ... {' '.join(word for word in rest[:2] if word != QUOTED)}: Sluice does not know this clause; "
        "declare what it touches in spec.footprint"
    )


def comment(reading: StatementContext) -> TableFootprint:
    return _metadata_only(reading, Metadata.MAY_CHANGE, keeps_partition_columns=True)


def _names_no_partition_column(reading: StatementContext) -> bool:
    facts = reading.facts
    if facts is None:
        return False
    named = {token.text.lower() for token in reading.statement.tokens[reading.end :]}
    return not any(column.name.lower() in named for column in facts.columns.partition_columns)


def _metadata_only(
    reading: StatementContext,
    metadata: Metadata,
    protocol: ProtocolChange = ProtocolChange.NONE,
    **more: object,
) -> TableFootprint:
    fields: dict[str, object] = {
        "reads": NOTHING,
        "reads_files": NOTHING,
        "adds": NOTHING,
        "removes": NOTHING,
        "certain": metadata in (Metadata.CHANGES, Metadata.SAME),
        **more,
    }
    return reading.footprint(Operation.ALTER, metadata=metadata, protocol=protocol, **fields)


def _set_properties(reading: StatementContext) -> TableFootprint:
    given = properties(reading.statement.tokens[reading.end + 2 :])
    if not given:
        raise reading.refused("SET TBLPROPERTIES needs ('key' = 'value', ...)")
    wanted = {_as_delta_has(key): (value or "") for key, value in given.items()}
    ends_feed = wanted.get(_CHANGE_FEED, "true").lower() != "true"
    found = _with_properties(reading, wanted)
    return replace(
        found,
        metadata=_beside_identity(found.metadata, reading),
        keeps_partition_columns=found.keeps_partition_columns or all(map(_leaves_columns, wanted)),
        leaves_retention_hours=_retention(given),
        ends_readers=found.ends_readers or (ends_feed and found.metadata is not Metadata.SAME),
    )


def _with_properties(reading: StatementContext, wanted: dict[str, str]) -> TableFootprint:
    known = _known(reading)
    if known is not None and all(known.get(key) == value for key, value in wanted.items()):
        return _metadata_only(reading, Metadata.SAME)
    if _rewrites_files(wanted, known):
        return reading.footprint(
            Operation.ALTER, metadata=Metadata.MAY_CHANGE, protocol=ProtocolChange.MAY_ADD, ends_readers=True
        )
    enabling = all(key in ENABLING and value.lower() == ENABLING[key][0] for key, value in wanted.items())
    again = _may_enable_timestamps_again(wanted, known)
    if known is not None and enabling and not again and not _maps_fields(wanted, known, reading):
        enables = frozenset(ENABLING[key][1] for key in wanted)
        return _metadata_only(
            reading, Metadata.ENABLES, ProtocolChange.MAY_ADD, enables=enables, certain=True
        )
    protocol = (
        ProtocolChange.MAY_ADD if any(_may_add_a_feature(key) for key in wanted) else ProtocolChange.NONE
    )
    if known is None or again or any(key.startswith(_ONLY_WRITTEN) for key in wanted):
        return _metadata_only(reading, Metadata.MAY_CHANGE, protocol)
    return _metadata_only(reading, Metadata.CHANGES, protocol)


def _unset_properties(reading: StatementContext) -> TableFootprint:
    tokens = reading.statement.tokens
    start = next((k for k in range(reading.end + 2, len(tokens)) if tokens[k].text == "("), len(tokens))
    given = [_as_delta_has(key) for key in properties(tokens[start:])]
    leaves = hours_kept_by({}) if _RETENTION in given else None
    found = _without_properties(reading, given)
    ends_feed = _CHANGE_FEED in given and found.metadata is not Metadata.SAME
    return replace(
        found,
        metadata=_beside_identity(found.metadata, reading),
        keeps_partition_columns=found.keeps_partition_columns or all(map(_leaves_columns, given)),
        leaves_retention_hours=leaves,
        ends_readers=found.ends_readers or ends_feed,
    )


def _without_properties(reading: StatementContext, given: list[str]) -> TableFootprint:
    known = _known(reading)
    protocol = (
        ProtocolChange.MAY_ADD if any(_may_add_a_feature(key) for key in given) else ProtocolChange.NONE
    )
    if _MAPPING in given:
        return reading.footprint(
            Operation.ALTER, metadata=Metadata.MAY_CHANGE, protocol=ProtocolChange.MAY_ADD, ends_readers=True
        )
    if known is None:
        return _metadata_only(reading, Metadata.MAY_CHANGE, protocol)
    changes = any(key in known for key in given)
    return _metadata_only(reading, Metadata.CHANGES if changes else Metadata.SAME, protocol)


def _retention(given: dict[str, str | None]) -> float | None:
    return hours_set_by(given) if _RETENTION in map(_as_delta_has, given) else None


def _known(reading: StatementContext) -> dict[str, str] | None:
    facts = reading.facts
    return None if facts is None else {_as_delta_has(key): value for key, value in facts.properties.items()}


def _as_delta_has(key: str) -> str:
    """The key as Delta compares it: its own properties in any case, others case-sensitively."""
    return key.lower() if key.lower().startswith("delta.") else key


def _rewrites_files(wanted: dict[str, str], known: dict[str, str] | None) -> bool:
    """Whether it removes column mapping, which rewrites all files."""
    if wanted.get(_MAPPING, "").lower() != "none":
        return False
    return known is None or known.get(_MAPPING, "none").lower() != "none"


def _beside_identity(metadata: Metadata, reading: StatementContext) -> Metadata:
    """Returns what the change is to writers that began before an identity column's mark rose. Delta lets that pass, but forgets
    it: then the next metadata differs from theirs by more than this change."""
    harmless = metadata in (Metadata.SAME, Metadata.ENABLES)
    return Metadata.MAY_CHANGE if harmless and reading.facts and reading.facts.identity_columns else metadata


def _may_enable_timestamps_again(wanted: dict[str, str], known: dict[str, str] | None) -> bool:
    """Whether the table may have had in-commit timestamps before. Delta then changes the version and the time at which they
    were enabled, which it never removed, and lets others commit only if both are new."""
    return all(any(key.startswith(_OF_TIMESTAMPS) for key in keys) for keys in (wanted, known or {}))


def _maps_fields(wanted: dict[str, str], known: dict[str, str], reading: StatementContext) -> bool:
    """Whether column mapping gives ids to fields of structs. Delta takes these for other types, and aborts other writers."""
    if wanted.get(_MAPPING) in (None, known.get(_MAPPING)) or reading.facts is None:
        return False
    return any("struct" in column.type.text.lower() for column in reading.facts.columns.columns)


def _leaves_columns(key: str) -> bool:
    """Whether the property says nothing of columns. Column mapping, and what needs it, gives each of them an id."""
    return not key.startswith("delta.") or key in _OF_NO_COLUMN or key.startswith("delta.autooptimize.")


def _may_add_a_feature(key: str) -> bool:
    beginnings = ("delta.enable", "delta.feature.", "delta.appendonly", "delta.min", "delta.universalformat")
    return key in ENABLING or key.startswith(beginnings)


def _cluster_by(reading: StatementContext) -> TableFootprint:
    """CLUSTER BY: on a clustered table it writes only a domain; the first one also changes metadata and protocol."""
    facts = reading.facts
    tokens = reading.statement.tokens[reading.end :]
    named = (token.text for before, token in pairwise(tokens) if before.text in ("(", ","))
    refuse_unknown(reading, (name for name in named if name.isidentifier()))
    clustered = facts is not None and bool(facts.clustering_columns)
    return _metadata_only(
        reading,
        Metadata.NONE if clustered else Metadata.MAY_CHANGE,
        ProtocolChange.NONE if clustered else ProtocolChange.MAY_ADD,
        domains=frozenset({CLUSTERING}),
        certain=clustered,
        keeps_partition_columns=True,  # only a table without any can be clustered
    )
