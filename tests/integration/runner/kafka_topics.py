"""Writes to Kafka by its own client, in the JVM of the tests' session, whose class path has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from devenv.kafka import KafkaBroker

_TEXT = "org.apache.kafka.common.serialization.StringSerializer"


class Topics:
    def __init__(self, spark: SparkSession, broker: KafkaBroker, jars: Sequence[str]) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._gateway: Any = spark.sparkContext._gateway
        self.broker = broker
        urls = self._array(jvm.java.net.URL, [jvm.java.net.URL(Path(jar).as_uri()) for jar in jars])
        self._loader = jvm.java.net.URLClassLoader(urls)

    def add(self, topic: str, *values: object) -> None:
        """All are there when this returns."""
        settings = self._jvm.java.util.Properties()
        for name, text in {
            "bootstrap.servers": self.broker.address,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": self.broker.account.login(),
            "key.serializer": _TEXT,
            "value.serializer": _TEXT,
        }.items():
            settings.setProperty(name, text)
        with self._as_its_own_program():
            producer = self._new("clients.producer.KafkaProducer", (settings, self._jvm.java.util.Properties))
            for value in values:
                record = self._new(
                    "clients.producer.ProducerRecord",
                    (topic, self._jvm.java.lang.String),
                    (str(value), self._jvm.java.lang.Object),
                )
                producer.send(record).get()
            producer.close()

    @contextmanager
    def _as_its_own_program(self) -> Iterator[None]:
        """Kafka looks for classes by the thread that it is called in."""
        thread = self._jvm.java.lang.Thread.currentThread()
        before = thread.getContextClassLoader()
        thread.setContextClassLoader(self._loader)
        try:
            yield
        finally:
            thread.setContextClassLoader(before)

    def _new(self, name: str, *arguments: tuple[Any, Any]) -> Any:
        java = self._jvm.java.lang
        types = self._array(java.Class, [self._class(kind) for _, kind in arguments])
        values = self._array(java.Object, [value for value, _ in arguments])
        return self._loader.loadClass(f"org.apache.kafka.{name}").getConstructor(types).newInstance(values)

    def _class(self, kind: Any) -> Any:
        return self._jvm.java.lang.Class.forName(kind._fqn)

    def _array(self, kind: Any, values: Sequence[Any]) -> Any:
        found = self._gateway.new_array(kind, len(values))
        for at, value in enumerate(values):
            found[at] = value
        return found
