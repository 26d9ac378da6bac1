"""LogStores like those of production, except that a test holds a commit right before others see it."""

from pathlib import Path

HELD_LINK = "dev.sluice.tests.HeldLinkLogStore"
HELD_S3 = "dev.sluice.tests.HeldS3ConditionalLogStore"
_FOLDER = "spark.hadoop.sluice.test.freezeDir"


def held_in(folder: Path) -> dict[str, str]:
    """Settings by which commits are held as files in the folder say."""
    return {"spark.delta.logStore.file.impl": HELD_LINK, _FOLDER: str(folder)}
