"""The index of decisions lists each page, under its own title."""

import re
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "docs" / "decisions"


def test_the_index_of_decisions_lists_each_page_by_its_number_and_title() -> None:
    listed = re.findall(
        r"^\| \[(\d+)\]\((.+?)\) \| (.+?) \| .+ \|$",
        (FOLDER / "README.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    pages = sorted(FOLDER.glob("0*.md"))
    titles = [page.read_text(encoding="utf-8").partition("\n")[0] for page in pages]
    assert [f"# {number}. {title}" for number, _, title in listed] == titles
    assert [name for _, name, _ in listed] == [page.name for page in pages]
