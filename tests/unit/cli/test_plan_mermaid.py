"""What a plan draws for a pull request, and that it stays within what Mermaid draws there."""

import re
from dataclasses import replace
from pathlib import Path

from sluice.cli.plan_mermaid import MOST_CHARACTERS, MOST_EDGES, as_mermaid
from sluice.offline.plan import Plan, planned
from sluice.offline.workspace import opened
from unit.cli.folders import FACTS, ORDERS, PINNED_DELETE, UNPINNED_MERGE, job, sluice, write

OTHER_DAY = PINNED_DELETE.replace("19", "18")
EDGE = re.compile(r"^  j\d+ ---?>?\|", re.MULTILINE)
BLOCK = re.compile(r"^```mermaid\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


def plan_of(folder: Path, jobs: int, table: str = ORDERS) -> Plan:
    texts = {f"j{n}": job(f"j{n}", UNPINNED_MERGE.replace(ORDERS, table)) for n in range(jobs)}
    write(folder, **texts)
    return planned(opened([folder]))


def graphs(markdown: str) -> list[str]:
    return BLOCK.findall(markdown)


def test_only_those_in_each_others_way_are_drawn_each_conflict_once(tmp_path: Path) -> None:
    write(tmp_path, a=job("a", PINNED_DELETE), b=job("b", UNPINNED_MERGE), c=job("c", OTHER_DAY))
    write(tmp_path, free=job("free", "DELETE FROM delta.`s3://lake/other` WHERE id = 1"), facts=str(FACTS))
    shown = sluice("plan", tmp_path, "-o", "mermaid").stdout
    (graph,) = graphs(shown)
    assert shown.startswith("### `s3://lake/orders`\n\n```mermaid\ngraph LR\n")
    assert re.findall(r'\["(\w+)"\](:::together)?', graph) == [
        ("a", ":::together"),
        ("b", ""),
        ("c", ":::together"),
    ]
    assert len(EDGE.findall(graph)) == 2


def test_each_table_has_a_graph_of_its_own_the_fullest_first(tmp_path: Path) -> None:
    for number in range(12):
        jobs = {
            f"t{number}-{n}": job(f"t{number}-{n}", f"DELETE FROM delta.`s3://lake/t{number}` WHERE id = {n}")
            for n in range(3 if number == 7 else 2)
        }
        write(tmp_path, **jobs)
    shown = sluice("plan", tmp_path, "-o", "mermaid").stdout
    assert shown.startswith("### `s3://lake/t7`\n")
    assert len(graphs(shown)) == 10
    assert shown.endswith("Not drawn: 2 conflicts on 2 more tables; `--all` draws them.\n")
    assert len(graphs(sluice("plan", tmp_path, "-o", "mermaid", "--all").stdout)) == 12


def test_no_graph_has_more_edges_than_mermaid_draws_and_the_rest_is_counted(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 34)
    shown = as_mermaid(plan)
    (graph,) = graphs(shown)
    assert len(plan.edges) == 34 * 33 // 2 > MOST_EDGES
    assert len(EDGE.findall(graph)) == MOST_EDGES
    assert shown.splitlines()[-1].startswith("Drawn: 500 of 561 conflicts, the worst first")


def test_no_graph_is_longer_than_mermaid_reads(tmp_path: Path) -> None:
    small = plan_of(tmp_path, 2)
    one = small.jobs[0]
    jobs = [replace(one, job=replace(one.job, name=f"{n:03}-{'x' * 200}")) for n in range(900)]
    edges = [replace(small.edges[0], first=n, second=n + 1) for n in range(0, 900, 2)]
    shown = as_mermaid(replace(small, jobs=tuple(jobs), edges=tuple(edges)))
    (graph,) = graphs(shown)
    drawn = len(EDGE.findall(graph))
    assert MOST_CHARACTERS - 2_000 < len(graph) <= MOST_CHARACTERS
    assert f"Drawn: {drawn} of 450 conflicts" in shown
    assert len(re.findall(r"^  j\d+\[", graph, re.MULTILINE)) == 2 * drawn


def test_a_name_does_not_end_its_label_or_the_block(tmp_path: Path) -> None:
    small = plan_of(tmp_path, 2)
    hostile = 'a"] --> b\n```\n<img src=x> `c` #quot; & d'
    jobs = [replace(one, job=replace(one.job, name=hostile)) for one in small.jobs]
    shown = as_mermaid(replace(small, jobs=tuple(jobs)))
    (graph,) = graphs(shown)
    label = "a#quot;] --#gt; b ''' #lt;img src=x#gt; 'c' #35;quot; #amp; d"
    assert graph.count(f'["{label}"]') == 2
    assert len(EDGE.findall(graph)) == 1


def test_a_plan_without_conflicts_draws_nothing_and_says_so(tmp_path: Path) -> None:
    write(tmp_path, a=job("a", PINNED_DELETE))
    assert "in each other's way" in sluice("plan", tmp_path, "-o", "mermaid").stdout
