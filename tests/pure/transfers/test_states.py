"""A state of a transfer is named wherever states are told apart. What mypy and tsc see of that is no test here."""

from typing import Final

import pytest
from tests.pure.language.made import read

from headrace.client.models import TransferState

_ASKED_ABOUT: Final = {TransferState.WAITING: "for what?", TransferState.PARTIAL: "no word of its own"}
"""The states that words do not name, and why."""


@pytest.mark.parametrize("state", TransferState)
def test_words_know_each_state_by_the_name_that_the_service_gives_it(state: TransferState) -> None:
    answer = read(f"list the {state} transfers")
    if state in _ASKED_ABOUT:
        assert answer.outcome == "ask"
    else:
        assert answer.outcome == "intent"
        assert answer.intent.target is not None
        assert answer.intent.target.state == state
