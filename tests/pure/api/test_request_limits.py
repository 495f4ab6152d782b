import pytest
from pydantic import ValidationError

from headrace.client import models as m


@pytest.mark.parametrize("form", [m.PlanRequest, m.InterpretRequest])
@pytest.mark.parametrize("field", ["plan", "timezone"])
@pytest.mark.parametrize("text", ["x" * 121, "\ud800"])
def test_a_handle_or_zone_that_is_too_long_or_no_text_is_refused(
    form: type[m.PlanRequest | m.InterpretRequest], field: str, text: str
) -> None:
    with pytest.raises(ValidationError):
        form.model_validate({field: text})
