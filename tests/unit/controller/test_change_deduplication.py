"""What goes on failing is told once."""

from sluice.controller.cache.change_deduplication import ChangeDeduplication


def test_a_thing_is_told_again_only_once_it_is_another_or_was_forgotten() -> None:
    news = ChangeDeduplication()
    assert news.is_news("a", "broken")
    assert not news.is_news("a", "broken")
    assert news.is_news("b", "broken")
    assert news.is_news("a", "broken otherwise")
    assert news.is_news("a", "broken")
    news.forget("a")
    assert news.is_news("a", "broken")


def test_who_is_gone_is_forgotten_and_others_are_not() -> None:
    news = ChangeDeduplication()
    news.is_news("gone", "broken")
    news.is_news("there", "broken")
    news.forget_unless({"there"}.__contains__)
    assert news.is_news("gone", "broken")
    assert not news.is_news("there", "broken")
