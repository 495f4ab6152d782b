"""What rows keep as JSON is read once for all who ask for it."""

import pytest
from pydantic import ValidationError

from headrace.api.store.documents import stored
from headrace.client import models as m

TEXT = m.Progress(files_total=3).model_dump_json()


def test_a_text_that_was_read_lately_gives_the_same_frozen_model_again() -> None:
    first = stored(m.Progress, TEXT)
    assert first == m.Progress.model_validate_json(TEXT)
    assert stored(m.Progress, str(bytes(TEXT, "utf-8"), "utf-8")) is first
    with pytest.raises(ValidationError):
        setattr(first, "files_total", 4)  # noqa: B010 - a frozen field


def test_another_text_or_kind_is_another_model_and_what_fits_none_is_refused_each_time() -> None:
    assert stored(m.Progress, m.Progress(files_total=4).model_dump_json()).files_total == 4
    for _ in range(2):
        with pytest.raises(ValidationError):
            stored(m.RunHours, TEXT)
