"""The runner's own tests once more, with the tables in a bucket. What they look up in folders, they find in the server's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from devenv.s3_server import S3Server
from held_commits import HELD_S3
from integration.runner import jobs
from integration.runner.s3.drivers import hadoop_settings
from integration.runner.s3.jars import s3_variables

HERE = Path(__file__).parents[1]
SQL, WRITES = "test_sql_jobs.py", "test_write_jobs.py"
REST = ("test_footprint_check.py", "test_promises.py", "test_run_keys.py", "test_conflicts.py")


@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    ("scheme", "files"),
    [
        ("s3", [WRITES]),
        pytest.param("s3a", [WRITES, SQL, *REST], marks=pytest.mark.long(minutes=15)),
        pytest.param("s3", [SQL, *REST], marks=pytest.mark.long(minutes=15)),
    ],
)
def test_what_holds_in_folders_holds_in_a_bucket(server: S3Server, scheme: str, files: Sequence[str]) -> None:
    bucket = server.bucket(f"suite-{uuid.uuid4().hex[:12]}")
    settings = {
        **{f"spark.hadoop.{key}": value for key, value in hadoop_settings(server.endpoint).items()},
        **{f"spark.delta.logStore.{name}.impl": HELD_S3 for name in ("s3", "s3a")},
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={bucket / 'run'}"]
        + [str(HERE / file) for file in files],
        env={
            **os.environ,
            **s3_variables(),
            jobs.BUCKET_FOLDER: str(bucket),
            jobs.SCHEME: scheme,
            jobs.STORE_SETTINGS: json.dumps(settings),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=1400,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    commits = list((bucket / "run").rglob("_delta_log/00000000000000000001.json"))
    assert commits, "no table was in the bucket"
