"""What rules and tests say that they rest on stands in docs/sources.md, and nothing stands there for nobody."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from generate.rulebooks import RULEBOOKS
from sluice.conflicts.row_level import SUPPORT

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
ID = r"[DCMS][1-9]\d*"
FINDINGS: dict[str, str] = dict(re.findall(rf"^#### ({ID})\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL))


def cited() -> Iterator[str]:
    for book in RULEBOOKS:
        for rule in book.rules:
            yield from rule.sources
            yield from rule.differs.findings if rule.differs is not None else ()
    yield from (row.finding for row in SUPPORT)


def test_every_finding_that_a_rule_cites_is_on_the_page() -> None:
    assert set(cited()) <= FINDINGS.keys()


def test_every_finding_on_the_page_is_cited_by_a_rule() -> None:
    assert set(cited()) >= FINDINGS.keys()


def test_ids_of_findings_are_counted_without_a_gap() -> None:
    last = Counter(name[0] for name in FINDINGS)
    assert set(FINDINGS) == {f"{letter}{n}" for letter in last for n in range(1, last[letter] + 1)}
    assert len(re.findall(rf"^#### {ID}$", PAGE, re.MULTILINE)) == len(FINDINGS)


def test_findings_that_others_refer_to_are_on_the_page() -> None:
    for text in FINDINGS.values():
        assert set(re.findall(rf"\b{ID}\b", text)) <= FINDINGS.keys()


def test_findings_that_tests_are_named_after_are_on_the_page() -> None:
    named = {
        (test, number.upper())
        for path in Path(__file__).parent.glob("test_*.py")
        for test in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        for number in re.findall(r"(?<=_)[dcms]\d+(?=_)", test)
    }
    assert len(named) > 50
    assert {(test, number) for test, number in named if number not in FINDINGS} == set()
