"""What callers are told that may not do something."""

from headrace.api.permissions import lacking
from headrace.auth import Scope


def test_who_may_not_with_a_token_is_told_which_scope_it_takes() -> None:
    assert "made with `--scope transfer:delete`" in lacking(Scope.TRANSFER_DELETE).detail


def test_what_no_token_ever_may_is_advised_to_be_done_in_person() -> None:
    for scope in (Scope.ADMIN, Scope.TRANSFER_APPROVE):
        said = lacking(scope).detail
        assert "no token ever may: `unset HEADRACE_TOKEN`, and sign in with `headrace login`" in said
        assert "--scope" not in said
