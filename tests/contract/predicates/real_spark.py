"""What Spark itself says: for many conditions at once, on which rows each of them is TRUE."""

from collections.abc import Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from contract.predicates.rows import TYPES, Row, cast

CONDITIONS_A_JOB = 200


class RealSpark:
    """A session with the rows as a cached view, so that conditions are evaluated and not folded away."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    def configure(self, *, ansi: bool, time_zone: str, codegen: bool) -> None:
        conf = self.session.conf
        conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        conf.set("spark.sql.session.timeZone", time_zone)
        conf.set("spark.sql.codegen.wholeStage", str(codegen).lower())
        conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if codegen else "NO_CODEGEN")

    def load(self, rows: Sequence[Row]) -> None:
        self.session.catalog.clearCache()
        fields = [StructField("i", StringType()), *(StructField(name, StringType()) for name in TYPES)]
        texts = [(str(i), *(row.texts[name] for name in TYPES)) for i, row in enumerate(rows)]
        typed = self.session.createDataFrame(texts, StructType(fields)).selectExpr(
            "cast(i AS int) AS i", *(f"{cast(name)} AS {name}" for name in TYPES)
        )
        typed.cache().createOrReplaceTempView("t")
        assert typed.count() == len(rows)

    def matching(self, conditions: Sequence[str]) -> list[int | None]:
        """Returns for each condition the rows on which it is TRUE, as bits; None where Spark refuses the condition or fails."""
        found: list[int | None] = []
        for start in range(0, len(conditions), CONDITIONS_A_JOB):
            found.extend(self._matching(conditions[start : start + CONDITIONS_A_JOB]))
        return found

    def _matching(self, conditions: Sequence[str]) -> list[int | None]:
        columns = ", ".join(f"({text}) <=> true AS c{i}" for i, text in enumerate(conditions))
        try:
            answers = self.session.sql(f"SELECT {columns}, i FROM t").collect()
        except (PySparkException, Py4JJavaError):
            return [None] if len(conditions) == 1 else self._without_refused(conditions)
        masks = [0] * len(conditions)
        for answer in answers:
            bit = 1 << answer[-1]
            for i in range(len(conditions)):
                if answer[i]:
                    masks[i] |= bit
        return list(masks)

    def _without_refused(self, conditions: Sequence[str]) -> list[int | None]:
        """Leaves out what Spark refuses before it runs; if it is none of them, some fail when they run: each half alone."""
        taken = [text for text in conditions if self._takes(text)]
        if len(taken) == len(conditions):
            middle = len(conditions) // 2
            return [*self._matching(conditions[:middle]), *self._matching(conditions[middle:])]
        found = dict(zip(taken, self._matching(taken) if taken else (), strict=True))
        return [found.get(text) for text in conditions]

    def _takes(self, condition: str) -> bool:
        try:
            self.session.sql(f"SELECT ({condition}) <=> true FROM t")
        except (PySparkException, Py4JJavaError):
            return False
        return True
