"""The last line behind all phrases: an intent leaves only if every word was owned and every fact was used."""

import pytest
from tests.pure.language.made import ROUTE, read

from headrace.guardrails.language import interpret


def test_a_word_that_nothing_owns_is_asked_about_even_where_nothing_else_noticed_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = __import__(interpret.__module__, fromlist=["assemble"])
    assemble = module.assemble
    monkeypatch.setattr(module, "assemble", lambda chosen, _leftover, words_of: assemble(chosen, [], words_of))
    assert read(ROUTE).outcome == "intent"
    answer = read(f"{ROUTE} zorbly")
    assert answer.outcome == "ask"
    assert [question.words for question in answer.questions] == ["zorbly"]
