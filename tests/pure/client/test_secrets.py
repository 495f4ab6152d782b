from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from headrace.client import models as m

SECRET = "a secret that logs must not show"  # noqa: S105
NOW = datetime(2026, 11, 25, tzinfo=UTC)
ME = m.Me(id="pn_1", name="ada", roles=[], scopes=[], session=True)


@pytest.mark.parametrize(
    "model",
    [
        m.SignIn(name="ada", password=SECRET),
        m.Session(secret=SECRET, expires=NOW, me=ME),
        m.AcceptInvitation(token=SECRET, password=SECRET),
        m.Invitation(link=SECRET, name="ada", roles=[], expires=NOW),
        m.Token(id="tk_1", name="pipeline", scopes=[], created=NOW, expires=NOW, secret=SECRET),
        m.JoinToken(token=SECRET, name="left", expires=NOW, commands=[SECRET]),
    ],
)
def test_what_is_printed_or_logged_of_a_model_holds_no_secret(model: BaseModel) -> None:
    assert SECRET not in f"{model!r} {model}"
    assert SECRET in model.model_dump_json()
