"""A manifest that passes on a laptop passes on a cluster, and one that is refused there is refused for the same reasons.

Each rule lives twice, in CEL and in Python. Here the good and the bad manifests are bent in many ways, with the characters
on which two languages like to differ, and both must judge each alike.
"""

import copy
import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from kubernetes import client

from generate.crds import RESOURCES
from integration.api.manifest_tables import bad_manifests, good_manifests, problems_of
from integration.api.server import Refusal, Server
from sluice.api import names
from unit.api.schemas import rules_in

Manifest = dict[str, Any]

SHORT = 20_000
SEEDS = [
    manifest
    for manifest in (*good_manifests(), *(case.manifest for case in bad_manifests()))
    if "spec" in manifest and len(json.dumps(manifest)) < SHORT
]
OURS = {rule["message"] for resource in RESOURCES for rule in rules_in(resource)}

TRICKY = [
    *("\n", "\t", "\v", "\f", "\x00", "\x1f", "\x7f", "\x85", "\xa0", "\u2028", "\ufeff", " ", ""),
    *("ſ", "K", "İ", "ı", "é", "ß", "٣", "𝟘", "😀"),  # noqa: RUF001 - letters and digits that only look plain
    *(
        "$",
        "{{",
        "${",
        "\\",
        "'",
        '"',
        "`",
        "@",
        ":",
        "/",
        "//",
        "..",
        "/../",
        ".",
        "-",
        "_",
        "*",
        "?",
        "&",
        "=",
    ),
    *(
        "a",
        "Z",
        "0",
        "9",
        "00",
        "s3://",
        "file:",
        "password=x",
        "://a:b@",
        "?sig=0123456789",
        "secret",
        "spark.",
    ),
]
STRANGE: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    5,
    2**31,
    -(2**63),
    2**63,
    0.5,
    "",
    " ",
    "5",
    "true",
    [],
    {},
    [None],
    {"a": "b"},
]

# kubectl itself refuses null as the value of a map's entry, and the API server on its own would drop the entry.
MAPS = ("parameters", "options", "sparkConf", "properties")


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        return found + [place for key, item in value.items() for place in _places(item, (*path, key))]
    if isinstance(value, list):
        return found + [place for index, item in enumerate(value) for place in _places(item, (*path, index))]
    return found


def _bent_text(draw: st.DrawFn, text: str) -> str:
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 3)))
    return text[:start] + draw(st.sampled_from(TRICKY)) + text[end:]


TEXTS = sorted({text for seed in SEEDS for text in re.findall(r'"([^"\\]{1,60})"', json.dumps(seed["spec"]))})


@st.composite
def bent_manifests(draw: st.DrawFn) -> Manifest:
    """A manifest of the tables with one to three things changed."""
    manifest: Manifest = copy.deepcopy(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 3))):
        places = _places(manifest["spec"])
        if not places:
            break
        *way, last = draw(st.sampled_from(places))
        holder = manifest["spec"]
        for step in way:
            holder = holder[step]
        value = holder[last]
        match draw(
            st.sampled_from(["text", "text", "text", "other text", "strange", "drop", "rename", "double"])
        ):
            case "text" if isinstance(value, str):
                holder[last] = _bent_text(draw, value)
            case "other text" if isinstance(value, str):
                holder[last] = draw(st.sampled_from(TEXTS))
            case "strange" if not (way and way[-1] in MAPS):
                holder[last] = copy.deepcopy(draw(st.sampled_from(STRANGE)))
            case "drop":
                del holder[last]
            case "rename" if isinstance(last, str):
                holder[_bent_text(draw, last)] = holder.pop(last)
            case "double" if isinstance(holder, list):
                holder.append(copy.deepcopy(value))
    return manifest


def _problems_by_the_models(manifest: Manifest) -> set[tuple[str, str]]:
    return {_split(problem) for problem in problems_of(manifest)}


def _split(problem: str) -> tuple[str, str]:
    field, found, message = problem.partition(": ")
    return (field, message) if found and re.match(r"spec\b", field) else ("", problem)


def _ours_by_the_server(refusal: Refusal) -> set[tuple[str, str]]:
    return {
        (re.sub(r"\[([^]]*[^]\d][^]]*)\]", r".\1", field).replace("<nil>", ""), said)
        for field, message in refusal.causes
        for said in OURS
        if message.endswith(said)
    }


def _schema_is_broken(refusal: Refusal) -> bool:
    """Then the rules are not judged at all."""
    return refusal.code == 400 or "some validation rules were not checked" in refusal.message


def test_models_and_api_server_judge_alike(resources: client.CustomObjectsApi) -> None:
    judged = Counter[str]()

    @settings(
        max_examples=400,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(manifest=bent_manifests())
    @example(manifest=SEEDS[0])
    def both_judge(manifest: Manifest) -> None:
        judged[_judged_alike(Server(resources, "default"), manifest)] += 1

    both_judge()
    assert judged[TAKEN] > 40, judged
    assert judged[BY_SCHEMA] > 40, judged
    assert judged[BY_RULES] > 40, judged


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("delta.columnMapping.mode", value) for value in ("ID", "\u0131d", "\u0130D", "id\n")),
        *(("delta.isolationLevel", value) for value in ("SERIALIZABLE", "serial\u0131zable")),
        *(("delta.logRetentionDuration", value) for value in ("30 DAYS", "4 WEE\u212aS", "1 m\u0131nute")),
        *((name, "a") for name in ("DELTA.appendOnly", "delta.append\u0131nly", "dElta\u0131.x")),
    ],
)
def test_letters_that_only_look_plain_are_judged_alike(
    resources: client.CustomObjectsApi, name: str, value: str
) -> None:
    policy = {
        "apiVersion": names.API_VERSION,
        "kind": names.POLICY_KIND,
        "metadata": {"name": "letters"},
        "spec": {"table": {"path": "/lake/letters"}, "properties": {name: value}},
    }
    _judged_alike(Server(resources, "default"), policy)


TAKEN, BY_SCHEMA, BY_RULES = "taken", "refused by its schema", "refused by our rules"


def _judged_alike(server: Server, manifest: Manifest) -> str:
    answer = server.try_to_create(manifest)
    problems = _problems_by_the_models(manifest)
    shown = json.dumps(manifest["spec"])[:2000]
    if not isinstance(answer, Refusal):
        assert not problems, f"only the models refuse: {problems} in {shown}"
        return TAKEN
    assert problems, f"only the API server refuses: {answer.message[:500]} in {shown}"
    if _schema_is_broken(answer):
        return BY_SCHEMA
    by_server = _ours_by_the_server(answer)
    by_models = {(field, message) for field, message in problems if message in OURS}
    assert by_models <= by_server, (
        f"only the models say {by_models - by_server}: {answer.message[:500]} in {shown}"
    )
    # An object's own rules wait, in the models, until its fields are right.
    unexplained = {
        (field, message)
        for field, message in by_server - by_models
        if not any(inner.startswith(field) for inner, _ in problems)
    }
    assert not unexplained, f"only the API server says {unexplained} in {shown}"
    return BY_RULES if by_server else BY_SCHEMA
