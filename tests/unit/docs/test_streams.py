"""The manifests that docs/streams.md shows are understood."""

import re
from datetime import UTC, datetime

import yaml

from documentation import ROOT
from sluice.engines import RuntimeProfile
from sluice.lifecycle.job.job_view import JobView

GUIDE = ROOT / "docs" / "streams.md"
PROFILES = {"default": RuntimeProfile(spark_version="4.2.0", delta_version="4.4.0")}


def test_each_stream_is_understood_with_the_table_that_it_writes() -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    written = []
    for body in map(yaml.safe_load, blocks):
        body["metadata"] |= {"uid": "u", "namespace": "etl"}
        footprint = JobView(body, PROFILES, datetime.now(UTC)).footprint_from_spec
        written.append([str(key) for key in footprint.keys])
    assert written == [["s3://lake/sales/orders"], ["s3://lake/sales/orders"]]
