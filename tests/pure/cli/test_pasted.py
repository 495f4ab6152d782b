"""A command that was copied from a page and pasted where a sentence belongs."""

import pytest

from headrace.cli.planning import without_command

SENTENCE = "copy a:/x to b:/y"


@pytest.mark.parametrize(
    "pasted",
    [
        f'headrace ask "{SENTENCE}"',
        f"headrace ask '{SENTENCE}'",
        f"headrace ask {SENTENCE}",
        f"headrace plan '{SENTENCE}'",
        f"  $ headrace  ask  “{SENTENCE}” \n",
    ],
)
def test_a_pasted_command_is_the_sentence_in_it(pasted: str) -> None:
    assert without_command(pasted) == SENTENCE


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE,
        '"copy a:/x to b:/y"',
        "headrace copy a:/x b:/y",
        "headrace ask",
        "headrace ask ''",
        "copy a:/headrace ask 1 to b:/y",
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert without_command(text) == text


def test_quotes_that_are_not_around_all_of_it_stay() -> None:
    said = 'copy "a:/x y" to "b:/z"'
    assert without_command(f"headrace ask {said}") == said
