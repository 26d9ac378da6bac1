"""What to do about failures of which Spark, Hadoop and Delta only say what happened.

Classes count by their full name and error classes only as Spark tells them, as in the table of what is retriable.
"""

from __future__ import annotations

from collections.abc import Sequence

from sluice_runner.exception_chains import Link

_OLD_LIBRARY = (
    "A newer Delta wrote this table: run the job with a Delta that knows these features (spec.runtime.deltaVersion), or "
    "drop them from the table."
)
_OTHER_COLUMNS = (
    "If the write is meant to add these columns, allow it (spec.write.schemaEvolution: true); otherwise select the "
    "columns of the table, under their names."
)
_NO_SUCH_NAME = (
    "If it is a table's name, bind it to its path in a DeltaTablePolicy (table.name as the job writes it, and table.path), or "
    "configure its catalog in the job's runtime profile."
)
_DAMAGED = (
    "The file is damaged, or isn't what its name says. If it is a source's, have it written again. If it is a file of a Delta "
    "table, delete the rows of its partition and write them again: a DELETE by partition columns alone reads no file."
)
_FILE_IS_GONE = (
    "If it is a file of a Delta table, a VACUUM with too short a retention, or a user by hand, has deleted it: delete the rows of "
    "its partition and write them again. A DELETE by partition columns alone reads no file."
)
_BY_ERROR_CLASS = {
    "FAILED_READ_FILE.NO_HINT": _DAMAGED,
    "FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER": _DAMAGED,
    "FAILED_READ_FILE.FILE_NOT_EXIST": _FILE_IS_GONE,
    "DELTA_UNSUPPORTED_FEATURES_FOR_READ": _OLD_LIBRARY,
    "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE": _OLD_LIBRARY,
    "DELTA_TABLE_NOT_FOUND": (
        "There is no _delta_log: check the path. Files of another kind are read by their format, such as parquet.`/path`."
    ),
    "TABLE_OR_VIEW_NOT_FOUND": _NO_SUCH_NAME,
    "REQUIRES_SINGLE_PART_NAMESPACE": _NO_SUCH_NAME,
    "SCHEMA_NOT_FOUND": _NO_SUCH_NAME,
    "PATH_NOT_FOUND": "Check the path, and that whatever writes it has run before this job.",
    "DELTA_METADATA_MISMATCH": _OTHER_COLUMNS,
    "_LEGACY_ERROR_TEMP_DELTA_0007": _OTHER_COLUMNS,
    "DELTA_MERGE_UNRESOLVED_EXPRESSION": (
        "A name in the MERGE is no column: compare its names with the columns of the table and of what is merged into it (in a "
        "stream's sql those of the view batch)."
    ),
    "DELTA_FAILED_TO_MERGE_FIELDS": "Cast this column of the source to the type that it has in the table.",
}

_UNREACHABLE = (
    "The storage could not be reached: check that its address is right and that it answers from the driver's pod (network "
    "policies, DNS)."
)
_REFUSED = (
    "The driver has no credentials for the storage, or the storage refused them: give its account these rights, or the "
    "driver another one (its service account, or the Secret with its keys)."
)
_NO_BUCKET = "There is no such bucket: correct the path, or the endpoint that the driver asks (spark.hadoop.fs.s3a.endpoint)."
_NO_CLASS = "The image has no jar with this class: use an image that has."
_NO_SUITABLE_DRIVER = "No suitable driver"
_NO_JDBC_DRIVER = (
    "The image has no JDBC driver for this URL: use an image with its jar, and name its class in the source's options "
    "(driver)."
)
_BY_CLASS = {
    "java.net.ConnectException": _UNREACHABLE,
    "java.net.NoRouteToHostException": _UNREACHABLE,
    "java.net.SocketTimeoutException": _UNREACHABLE,
    "java.net.UnknownHostException": _UNREACHABLE,
    "org.apache.hadoop.net.ConnectTimeoutException": _UNREACHABLE,
    "java.nio.file.AccessDeniedException": _REFUSED,
    "org.apache.hadoop.security.AccessControlException": _REFUSED,
    "org.apache.hadoop.fs.s3a.UnknownStoreException": _NO_BUCKET,
    "java.lang.ClassNotFoundException": _NO_CLASS,
    "org.apache.hadoop.fs.UnsupportedFileSystemException": (
        "The image knows no such storage: correct the path, or use an image with the jar that serves it."
    ),
}

_FILE_SYSTEM = "Class org.apache.hadoop.fs."
_NO_JAR = (
    "The image has no jar for this storage: use one that has (Sluice's, built with this store in STORES; for s3a: hadoop-aws "
    "of the version of Spark's Hadoop, with its AWS SDK), or correct the path."
)


def advice_for(chain: Sequence[Link]) -> str | None:
    """The advice for the innermost exception of the chain that has some: the closest to the cause."""
    return next((advice for link in reversed(chain) if (advice := _for_link(link)) is not None), None)


def _for_link(link: Link) -> str | None:
    if not link.is_java:
        return None
    if link.class_name == "java.lang.ClassNotFoundException" and link.message.startswith(_FILE_SYSTEM):
        return _NO_JAR
    if link.class_name == "java.sql.SQLException" and link.message.startswith(_NO_SUITABLE_DRIVER):
        return _NO_JDBC_DRIVER
    return _BY_ERROR_CLASS.get(link.error_class or "") or _BY_CLASS.get(link.class_name)
