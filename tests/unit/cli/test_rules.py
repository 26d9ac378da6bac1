"""The page of all conflict rules says what the rules do: each has an example that it decides itself, and tests that exist."""

import linecache
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import pytest

import sluice.conflicts
from sluice.api.job_status import Blocker
from sluice.cli import rules
from sluice.cli.rule_examples import EXAMPLES, Example
from sluice.cli.rule_ids import ids_of
from sluice.conflicts import databricks, oss

ROOT = Path(__file__).parents[3]


def named(example: Example) -> str:
    return f"{example.rule.__module__.rpartition('.')[2]}.{example.rule.__name__}"


def test_the_committed_page_is_that_of_the_rules() -> None:
    committed = (ROOT / "docs" / "conflict-rules.md").read_text(encoding="utf-8")
    assert committed == rules.render(), "stale: run ./dev crds and commit docs/conflict-rules.md"


def test_the_page_lists_every_id_that_a_verdict_can_carry() -> None:
    page = rules.render()
    modules = [
        import_module(f"sluice.conflicts.{one.name}") for one in iter_modules(sluice.conflicts.__path__)
    ]
    ids = {one for module in modules for found in ids_of(module).values() for one in found}
    assert {"other-tables", "feature-removed", "optimize-beside-insert", "same-rows"} < ids
    assert {one for one in ids if f"| `{one}` |" not in page} == set()


def test_every_link_of_the_page_to_a_rule_leads_to_its_heading() -> None:
    seen: Counter[str] = Counter()
    anchors = set()
    for heading in re.findall(r"^#+ (.+)$", rules.render(), re.MULTILINE):
        slug = heading.lower().replace(" ", "-")
        anchors.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    assert set(re.findall(r"\]\(#([^)]+)\)", rules.render())) <= anchors


def test_an_id_that_is_put_together_is_refused_because_no_page_could_list_it() -> None:
    module = ModuleType("rules")
    source = 'def rule(x):\n    return Verdict(1, f"rule-{x}", "")\n'
    linecache.cache["rules.py"] = (len(source), None, source.splitlines(keepends=True), "rules.py")
    module.__file__ = "rules.py"
    with pytest.raises(TypeError, match="line 2"):
        ids_of(module)


def test_the_status_says_where_its_rules_are_explained() -> None:
    assert "docs/conflict-rules.md" in (Blocker.model_fields["rule"].description or "")


def test_every_rule_has_one_example() -> None:
    assert len({example.rule for example in EXAMPLES}) == len(EXAMPLES)
    assert {example.rule for example in EXAMPLES} == {
        *rules.OF_ALL,
        *rules.OF_OSS,
        *rules.OF_DATABRICKS,
        *rules.OF_DELTA_RS,
    }


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_an_example_is_decided_by_its_rule(example: Example) -> None:
    found = example.rule(example.race)
    assert found is not None
    assert found == example.verdict


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_what_proves_a_rule_exists(example: Example) -> None:
    for test in example.proof:
        path, _, name = test.partition("::")
        assert re.search(rf"^def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), test


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_a_rule_says_where_it_comes_from(example: Example) -> None:
    says, source, _ = rules.parts(example.rule.__doc__ or "")
    assert says
    assert source or example.rule in (databricks.undocumented, oss.nothing_meets)


def test_a_docstring_has_three_parts() -> None:
    assert rules.parts("Says. seed 000, Place; measured 5.\n    Differs: the code.") == (
        "Says.",
        "seed 000, Place; measured 5.",
        "the code.",
    )
    assert rules.parts("Says only.") == ("Says only.", "", "")
