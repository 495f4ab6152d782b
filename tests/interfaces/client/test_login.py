import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headrace.client import HeadraceError, login
from headrace.client import models as m

ONE, OTHER = "http://127.0.0.1:8470", "https://other.example"


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "deep" / "config"
    monkeypatch.setenv("HEADRACE_CONFIG", str(folder))
    monkeypatch.delenv("HEADRACE_TOKEN", raising=False)
    monkeypatch.delenv("HEADRACE_SERVICE", raising=False)
    return folder


def session(secret: str, valid: timedelta = timedelta(hours=1)) -> m.Session:
    me = m.Me(id="pe_1", name="anna", roles=[], scopes=[], session=True)
    return m.Session(secret=secret, expires=datetime.now(UTC) + valid, me=me)


def test_a_session_is_kept_where_only_its_person_can_read_it(config: Path) -> None:
    path = login.remember(ONE, session("s3cret"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(config.stat().st_mode) == 0o700
    assert [child.name for child in config.iterdir()] == ["session.json"]


def test_a_secret_goes_only_to_the_service_that_gave_it(monkeypatch: pytest.MonkeyPatch) -> None:
    login.remember(ONE, session("one"))
    assert login.credentials() == (ONE, "one")
    monkeypatch.setenv("HEADRACE_SERVICE", f"{OTHER}/")
    assert login.credentials() == (OTHER, None)
    login.remember(OTHER, session("other"))
    assert login.credentials() == (OTHER, "other")
    login.forget(OTHER)
    assert login.credentials() == (OTHER, None)
    assert set(login.saved_sessions()) == {ONE}


def test_an_expired_session_is_not_used() -> None:
    login.remember(ONE, session("old", timedelta(seconds=-1)))
    assert login.credentials() == (ONE, None)


def test_a_token_in_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    login.remember(ONE, session("one"))
    monkeypatch.setenv("HEADRACE_TOKEN", "hrt_x")
    assert login.credentials() == (ONE, "hrt_x")


def test_a_session_file_that_cannot_be_read_is_said_with_what_to_do(config: Path) -> None:
    config.mkdir(parents=True)
    (config / "session.json").write_text("{nonsense")
    with pytest.raises(HeadraceError, match=r"headrace login") as caught:
        login.credentials()
    assert caught.value.problem.code == "session_file"
