"""Leaves secrets out of objects of Kubernetes. Where anybody may write anything, only what is known to be none is kept.

What is left out at one place is remembered, and left out of every other text as well: a log may print what a variable holds.
"""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from sluice.api import names
from sluice.api.json_text import as_json
from sluice.online.bundle.secrets_in_text import STARS, is_called_secret, without_secrets

RULES = (
    "values of variables, also in settings, but for a list of Spark's own; those from Secrets are named, and no Secret is read",
    "values of the options of sources, but for a list of those that say how files are read",
    "values of annotations, also in settings, but for those of Sluice, Kubernetes and the Spark operators",
    "managedFields and last-applied-configuration",
    "values of settings and fields whose names say that they are secrets (password, secret, token, access key and the like)",
    "values of headers that probes send, and of the attributes of volumes",
    "values of Java's properties (-Dname=value), but for those of Java, of its logging and of Spark",
    "the runner's --plan argument, which is the job's own spec again, encoded",
    "in all texts: users and passwords in addresses, signed queries, values assigned to such names, bearer tokens, private keys",
    "wherever else they stand: the values that were left out by these rules, if they look like secrets",
)
"""What is left out, in words."""
STILL_IN_IT = (
    "names of tables, columns, jobs, pods, nodes and people; paths; the job's SQL with its literals and comments; its "
    "parameters; arguments: a secret in plain words there, or in a line of a log, is not known to be one"
)

_KEPT_VARIABLES = frozenset(
    {
        "HADOOP_CONF_DIR",
        "JAVA_HOME",
        "LANG",
        "LC_ALL",
        "PYSPARK_DRIVER_PYTHON",
        "PYSPARK_PYTHON",
        "SPARK_APPLICATION_ID",
        "SPARK_CONF_DIR",
        "SPARK_DRIVER_BIND_ADDRESS",
        "SPARK_DRIVER_URL",
        "SPARK_EXECUTOR_CORES",
        "SPARK_EXECUTOR_ID",
        "SPARK_EXECUTOR_MEMORY",
        "SPARK_EXECUTOR_POD_IP",
        "SPARK_EXECUTOR_POD_NAME",
        "SPARK_HOME",
        "SPARK_LOCAL_DIRS",
        "SPARK_LOCAL_HOSTNAME",
        "SPARK_RESOURCE_PROFILE_ID",
        "SPARK_USER",
        "TZ",
    }
)
_KEPT_OPTIONS = frozenset(
    {
        "compression",
        "dateformat",
        "delimiter",
        "encoding",
        "escape",
        "failondataloss",
        "fetchsize",
        "header",
        "ignoredeletes",
        "inferschema",
        "lowerbound",
        "maxbytespertrigger",
        "maxfilespertrigger",
        "mergeschema",
        "mode",
        "multiline",
        "nullvalue",
        "numpartitions",
        "partitioncolumn",
        "quote",
        "readchangefeed",
        "recursivefilelookup",
        "sep",
        "skipchangecommits",
        "startingtimestamp",
        "startingversion",
        "timestampasof",
        "timestampformat",
        "upperbound",
        "versionasof",
    }
)
_KEPT_ANNOTATIONS = re.compile(
    rf"^({re.escape(names.GROUP)}|spark\.apache\.org|(.*\.)?k8s\.io|(.*\.)?kubernetes\.io|(.*\.)?x-k8s\.io|checksum)/|^meta\.helm\.sh/"
)
_SETS_A_VARIABLE = re.compile(r"^spark\.(kubernetes\.driverEnv|executorEnv)\.(?P<name>.+)")
_SETS_AN_ANNOTATION = re.compile(
    r"^spark\.kubernetes\.(driver|executor|driver\.service)\.annotation\.(?P<name>.+)"
)
_OF_KUBERNETES = frozenset(("imagePullSecrets", "secret", "secrets", "serviceAccountToken"))
"""Fields that name secrets and hold none."""
_HIDDEN_WHOLE = frozenset(("httpHeaders", "volumeAttributes"))
"""What a probe sends, and what a driver of volumes is told: people write keys there under names of their own."""
_NAMED = frozenset(("name", "key"))
_DROPPED = frozenset(("managedFields", "kubectl.kubernetes.io/last-applied-configuration"))
_ARGUMENTS = frozenset(("args", "arguments", "command", "driverArgs"))
_PLAN = "--plan="
_PROPERTY = re.compile(
    r"(?P<name>(?<![^\s\"'=])-D[^\s=\"']{1,256})=(?P<quote>[\"']?)(?P<value>(?<=\")[^\"]*|(?<=')[^']*|[^\s\"']+)"
)
_KEPT_PROPERTIES = re.compile(r"^-D(file|java|jdk|log4j\d?|spark|sun|user)\.")
_VALUE = re.compile(r"(?P<name>-{0,2}[A-Za-z_][A-Za-z0-9_.\-]*)=(?P<value>.+)", re.DOTALL)

_SHORTEST_CALLED, _SHORTEST_RANDOM = 6, 12


class ObjectMasking:
    def __init__(self, *needed: str) -> None:
        """`needed`: words without which nobody could read anything, such as the job's name."""
        self._needed = needed
        self._found: set[str] = set()

    def masked(self, body: Any, key: str = "") -> Any:
        """The object without what its places, or its own words, tell to be secret."""
        if isinstance(body, Mapping):
            return self._masked_fields(body, key)
        if isinstance(body, list):
            return self._masked_list(body, key)
        return self._masked_text(body) if isinstance(body, str) else body

    def _masked_text(self, text: str) -> str:
        """A text that is an object, such as a report or a record in an annotation, is one."""
        if text[:1] in ("{", "["):
            try:
                return as_json(self.masked(json.loads(text)))
            except (ValueError, RecursionError):
                return self._masked_words(text)
        return self._masked_words(text)

    def _masked_words(self, text: str) -> str:
        return without_secrets(_PROPERTY.sub(self._property, text) if "-D" in text else text)

    def _property(self, found: re.Match[str]) -> str:
        name, quote = found["name"], found["quote"]
        if _KEPT_PROPERTIES.match(name) and not is_called_secret(name):
            return found[0]
        return f"{name}={quote}{self._hidden(name, found['value'])}"

    def without_found(self, text: str) -> str:
        """To be asked once everything is there."""
        if not self._found:
            return text
        written = {form for secret in self._found for form in _forms(secret)}
        pattern = "|".join(re.escape(one) for one in sorted(written, key=lambda one: (-len(one), one)))
        return re.sub(pattern, STARS, text)

    def _masked_fields(self, body: Mapping[str, Any], key: str) -> dict[str, Any]:
        kept = {str(name): value for name, value in body.items() if name not in _DROPPED}
        if key.lower().endswith("annotations"):
            return {name: self._annotation(name, value) for name, value in kept.items()}
        called = next((kept[one] for one in _NAMED if isinstance(kept.get(one), str)), "")
        if is_called_secret(called) and "value" in kept:
            return {
                name: self._hidden(called, value) if name == "value" else value
                for name, value in kept.items()
            }
        if key == "envVars":
            return {name: self._variable(name, value) for name, value in kept.items()}
        if key == "options":
            return {
                name: self.masked(value) if name.lower() in _KEPT_OPTIONS else self._hidden(name, value)
                for name, value in kept.items()
            }
        return {name: self._field(name, value) for name, value in kept.items()}

    def _field(self, name: str, value: Any) -> Any:
        if isinstance(value, Mapping | list):
            is_hidden = name in _HIDDEN_WHOLE or (is_called_secret(name) and name not in _OF_KUBERNETES)
            return self._hidden_below(name, value) if is_hidden else self.masked(value, name)
        if isinstance(value, bool) or value is None or (name == "token" and isinstance(value, int)):
            return value
        if (variable := _SETS_A_VARIABLE.match(name)) is not None:
            return self._variable(variable["name"], value)
        if (annotation := _SETS_AN_ANNOTATION.match(name)) is not None:
            return self._annotation(annotation["name"], value)
        return self._hidden(name, value) if is_called_secret(name) else self.masked(value)

    def _hidden_below(self, name: str, value: Any) -> Any:
        """Nothing is kept of what lies below but its fields' names, and the names of headers."""
        if isinstance(value, Mapping):
            return {
                str(key): one if key in _NAMED and "value" in value else self._hidden_below(name, one)
                for key, one in value.items()
            }
        if isinstance(value, list):
            return [self._hidden_below(name, one) for one in value]
        return self._hidden(name, value)

    def _masked_list(self, body: list[Any], key: str) -> list[Any]:
        if key == "env":
            return [self._masked_variable(one) for one in body]
        if key in _ARGUMENTS:
            return self._masked_arguments(body)
        return [self.masked(one) for one in body]

    def _masked_variable(self, one: Any) -> Any:
        if not isinstance(one, Mapping) or "value" not in one:
            return self.masked(one)
        others = {name: self.masked(value, name) for name, value in one.items() if name != "value"}
        return others | {"value": self._variable(str(one.get("name")), one["value"])}

    def _variable(self, name: str, value: Any) -> Any:
        return self.masked(value) if name in _KEPT_VARIABLES else self._hidden(name, value)

    def _annotation(self, name: str, value: Any) -> Any:
        return self.masked(value) if _KEPT_ANNOTATIONS.search(name) else self._hidden(name, value)

    def _masked_arguments(self, given: list[Any]) -> list[Any]:
        found: list[Any] = []
        before = ""
        for one in given:
            if isinstance(one, str) and one.startswith(_PLAN):
                found.append(_PLAN + STARS)
            elif before.startswith("-") and "=" not in before and is_called_secret(before):
                found.append(self._hidden(before, one))
            elif isinstance(one, str) and (set_ := _VALUE.fullmatch(one)) and is_called_secret(set_["name"]):
                found.append(f"{set_['name']}={self._hidden(set_['name'], set_['value'])}")
            else:
                found.append(self.masked(one))
            before = one if isinstance(one, str) else ""
        return found

    def _hidden(self, name: str, value: Any) -> Any:
        """Stars; and what they stand for is looked for elsewhere, if it can be told from an ordinary word."""
        if value in ("", None) or isinstance(value, bool):
            return value
        text = value if isinstance(value, str) else json.dumps(value)
        if _can_be_told(text, is_called=is_called_secret(name)) and not self._is_needed(text):
            self._found.add(text)
        return STARS

    def _is_needed(self, text: str) -> bool:
        return any(word in text or text in word for word in self._needed)


def _can_be_told(text: str, *, is_called: bool) -> bool:
    if text.startswith("/") or STARS in text:
        return False
    if is_called:
        return len(text) >= _SHORTEST_CALLED
    is_mixed = re.search(r"\d", text) is not None and re.search(r"[A-Za-z]", text) is not None
    return len(text) >= _SHORTEST_RANDOM and is_mixed and not re.search(r"[\s/]", text)


def _forms(secret: str) -> set[str]:
    """The ways in which it may be written."""
    encoded = secret.encode(errors="replace")
    return {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret, safe="", errors="replace"),
        b64encode(encoded).decode(),
    }
