"""What each role may do with each kind of object, by the word of a real API server: each cell of docs/security-model.md."""

import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from devenv.project import ROOT
from integration.chart.helm import NO_DEFINITIONS, RELEASE, Helm
from integration.chart.policies import RBAC
from integration.objects import Objects, Server
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

PAGE = ROOT / "docs" / "security-model.md"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
READ = ("get", "list", "watch")
WRITE = ("create", "update", "patch", "delete", "deletecollection")
ENGINES = "engines={kubeflow,apache}"
JOB_AUTHOR = [{"apiGroups": [names.GROUP], "resources": [names.JOB_PLURAL], "verbs": [*READ, "create"]}]


@dataclass(frozen=True)
class Who:
    user: str
    groups: tuple[str, ...] = ("system:authenticated",)

    @classmethod
    def account(cls, namespace: str, name: str) -> "Who":
        of_accounts = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        return cls(f"system:serviceaccount:{namespace}:{name}", (*of_accounts, "system:authenticated"))


@dataclass(frozen=True)
class Cluster:
    """Two installations, one of which watches a namespace and the other one all, and people with rights in that namespace."""

    server: Server
    jobs: str
    beside: str
    systems: dict[str, str]
    """The namespaces of the operators, by the columns of their roles."""
    roles: dict[str, Who]
    """By the columns of the tables."""

    def may(self, who: Who, verb: str, attributes: Json) -> bool:
        spec = {
            "user": who.user,
            "groups": [*who.groups],
            "resourceAttributes": attributes | {"verb": verb},
        }
        review = self.server.ask("POST", REVIEWS, {"spec": spec})
        assert review is not None
        return bool(review["status"]["allowed"])

    def cell(self, who: Who, attributes: Json) -> str:
        """In the words of the tables."""
        allowed = [verb for verb in (*READ, *WRITE) if self.may(who, verb, attributes)]
        for word, verbs in (("all", (*READ, *WRITE)), ("read", READ), ("write", WRITE)):
            if set(verbs) <= set(allowed):
                allowed = [word, *(verb for verb in allowed if verb not in verbs)]
        return ", ".join(allowed) or "-"

    def namespace(self, place: str, column: str) -> str:
        """What a table calls it; empty: of no namespace."""
        places = {"its own": self.systems.get(column, ""), "another": self.beside, "the cluster": ""}
        return places.get(place, place)


def test_each_role_may_do_in_a_namespace_of_jobs_what_the_table_says_and_no_more(cluster: Cluster) -> None:
    headers, rows = table("In a namespace of jobs")
    assert headers == ["object", "view", "edit", "admin", "job author", "driver", "operator"]
    for column in ("operator of some namespaces", "operator of all namespaces"):
        asked = [*headers[1:-1], column]
        found = [
            [
                row[0],
                *(
                    cluster.cell(cluster.roles[role], {**attributes(row[0]), "namespace": cluster.jobs})
                    for role in asked
                ),
            ]
            for row in rows
        ]
        assert found == rows, _shown(headers, found)


def test_drivers_and_operators_may_do_elsewhere_what_the_table_says_and_no_more(cluster: Cluster) -> None:
    headers, rows = table("Elsewhere")
    assert headers[:2] == ["object", "namespace"]
    found = []
    for what, place, *_ in rows:
        cells = []
        for column in headers[2:]:
            where = cluster.namespace(place, "operator of some namespaces" if column == "driver" else column)
            cells.append(cluster.cell(cluster.roles[column], {**attributes(what), "namespace": where}))
        found.append([what, place, *cells])
    assert found == rows, _shown(headers, found)


def test_an_editor_may_act_as_any_account_of_the_namespace_and_nobody_below_may(cluster: Cluster) -> None:
    for verb, what in (("impersonate", "`serviceaccounts`"), ("create", "`serviceaccounts/token`")):
        asked = {**attributes(what), "namespace": cluster.jobs}
        may = {role for role, who in cluster.roles.items() if cluster.may(who, verb, asked)}
        assert may == {"edit", "admin"}, verb


def test_the_tables_speak_of_every_kind_that_the_charts_roles_name(helm: Helm) -> None:
    spoken = {
        (a["group"], a["resource"], a.get("subresource", ""))
        for name in TABLES
        for a in map(attributes, _objects(name))
    }
    for values in (("watchNamespaces={team}",), ()):
        for body in helm.rendered("lake", NO_DEFINITIONS, ENGINES, *values):
            if body["kind"] not in ("Role", "ClusterRole") or "hooks" in body["metadata"]["name"]:
                continue
            for rule in body["rules"]:
                for group in rule["apiGroups"]:
                    for resource in rule["resources"]:
                        plural, _, sub = resource.partition("/")
                        assert (group, plural, sub) in spoken, f"{PAGE.name} has no row of {resource}"


TABLES = ("In a namespace of jobs", "Elsewhere")
_OBJECT = re.compile(
    r"`(?P<plural>[a-z]+)(/(?P<sub>[a-z]+))?(\.(?P<group>[a-z0-9.]+))?`( called `(?P<name>[a-zA-Z0-9.-]+)`)?"
)


def attributes(what: str) -> Json:
    """As a review asks for what a table calls so."""
    read = _OBJECT.fullmatch(what)
    assert read is not None, f"{what} is not written as `RESOURCE.GROUP` called `NAME`"
    name = (read["name"] or "").replace("DEPLOYMENT", RELEASE)
    return (
        {"group": read["group"] or "", "resource": read["plural"]}
        | ({"subresource": read["sub"]} if read["sub"] else {})
        | ({"name": name} if name else {})
    )


def table(heading: str) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of the table below this heading of the page."""
    text = PAGE.read_text(encoding="utf-8").partition(f"### {heading}\n")[2].partition("\n#")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert lines, f"{PAGE.name} has no table below the heading {heading}"
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return cells[0], cells[2:]


def _objects(heading: str) -> list[str]:
    return [row[0] for row in table(heading)[1]]


def _shown(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    told = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"the API server says otherwise than docs/{PAGE.name}:\n{told}"


@pytest.fixture(scope="module")
def cluster(helm: Helm, kubeconfig: Path) -> Iterator[Cluster]:
    server = Server.of(kubeconfig)
    prefix = f"rights-{uuid.uuid4().hex[:6]}"
    jobs, beside, some, every = (f"{prefix}-{what}" for what in ("jobs", "beside", "some", "all"))
    for namespace in (jobs, beside, some, every):
        server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    rendered = [
        *_roles(helm.rendered(some, NO_DEFINITIONS, ENGINES, f"watchNamespaces={{{jobs}}}")),
        *_roles(helm.rendered(every, NO_DEFINITIONS, ENGINES, "rbac.aggregate=false")),
    ]
    author = {"kind": "Role", "metadata": {"name": "job-author", "namespace": jobs}, "rules": JOB_AUTHOR}
    people = {role: Who(f"{prefix}-{role}") for role in ("view", "edit", "admin", "job author")}
    made = [
        *rendered,
        author,
        *(_bound("ClusterRole", role, people[role].user, jobs) for role in ("view", "edit", "admin")),
        _bound("Role", "job-author", people["job author"].user, jobs),
    ]
    for body in made:
        server.ask("POST", _place(body), body)
    systems = {"operator of some namespaces": some, "operator of all namespaces": every}
    roles = people | {
        "driver": Who.account(jobs, "spark"),
        **{column: Who.account(namespace, RELEASE) for column, namespace in systems.items()},
    }
    cluster = Cluster(server, jobs, beside, systems, roles)
    for role, verb, plural in (
        ("view", "get", names.JOB_PLURAL),
        ("edit", "create", names.JOB_PLURAL),
        ("admin", "create", names.POLICY_PLURAL),
    ):
        asked = {"group": names.GROUP, "resource": plural, "namespace": jobs}
        eventually(
            partial(cluster.may, people[role], verb, asked),
            f"the chart's rights are added to the role {role}",
        )
    yield cluster
    for body in made:
        server.ask("DELETE", f"{_place(body)}/{body['metadata']['name']}")
    for namespace in (jobs, beside, some, every):
        Objects(server, namespace).leave_namespace()


def _roles(bodies: Sequence[Json]) -> Iterator[Json]:
    """Those that stay: Helm makes those of hooks for each hook."""
    for body in bodies:
        is_hook = "helm.sh/hook" in body["metadata"].get("annotations", {})
        if body["kind"].endswith(("Role", "RoleBinding")) and not is_hook:
            yield body


def _bound(kind: str, role: str, user: str, namespace: str) -> Json:
    api = "rbac.authorization.k8s.io"
    return {
        "kind": "RoleBinding",
        "metadata": {"name": role, "namespace": namespace},
        "roleRef": {"apiGroup": api, "kind": kind, "name": role},
        "subjects": [{"apiGroup": api, "kind": "User", "name": user}],
    }


def _place(body: Json) -> str:
    plural = f"{body['kind'].lower()}s"
    namespace = body["metadata"].get("namespace")
    return f"{RBAC}/namespaces/{namespace}/{plural}" if namespace else f"{RBAC}/{plural}"
