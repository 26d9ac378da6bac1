"""Names that mislead fail lint."""

from pathlib import PurePosixPath

import pytest

from devenv.names import GLOSSARY, complaints, replaced_words

REPLACED = frozenset({"world", "news"})


@pytest.mark.parametrize(
    ("modules", "told"),
    [
        (
            {"a/plan.py": "class Plan: ...", "b/plan.py": "class Plan: ..."},
            "class Plan stands for several things: a/plan.py, b/",
        ),
        ({"a/pausing.py": ""}, "module a/pausing.py is named by a participle"),
        ({"a/tables_kept.py": ""}, "module a/tables_kept.py is named by a participle"),
        ({"a/cache.py": "class OldWorld: ..."}, "OldWorld in a/cache.py holds the word world"),
        ({"a/news_list.py": ""}, "news_list in a/news_list.py holds the word news"),
    ],
)
def test_a_misleading_name_is_told_with_its_place(modules: dict[str, str], told: str) -> None:
    (found,) = complaints({PurePosixPath(path): source for path, source in modules.items()}, REPLACED)
    assert found.startswith(told)


def test_private_classes_and_words_within_words_are_free() -> None:
    modules = {"a/newsstand.py": "class _Plan: ...", "b/ring.py": "class _Plan: ...\nclass Worlds: ..."}
    assert not complaints({PurePosixPath(path): source for path, source in modules.items()}, REPLACED)


def test_the_glossary_names_the_words_that_it_replaces() -> None:
    assert {"world", "news", "errand"} <= replaced_words(GLOSSARY.read_text(encoding="utf-8"))
