"""What nodes say of errors, as people read it."""

from headrace.api.transfers.advice import told

KEY = "ed25519:TUaHd4B4x_-9"


def test_a_node_that_lost_an_attempt_is_called_by_its_name_and_nobody_is_told_to_resume() -> None:
    """The transfer goes on by itself, and a resume is refused; hubs of earlier builds advise it."""
    for advice in ("", ": resume the transfer"):
        message = f"node {KEY} restarted and lost the attempt{advice}"
        assert told("node_restarted", message, {KEY: "dtn2"}) == "node `dtn2` restarted and lost the attempt"
        assert told("node_restarted", message, {}) == f"node {KEY} restarted and lost the attempt"


def test_whatever_names_a_node_by_its_key_names_it_by_its_name_where_that_is_known() -> None:
    assert told("node_lost", f"the connection of {KEY} broke", {KEY: "dtn2"}) == "the connection of `dtn2` broke"
