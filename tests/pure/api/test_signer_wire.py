"""Messages between the service and a signer of its own come whole and in time, or not at all."""

import socket
import struct

import pytest

from headrace.api.signing import signer_wire


class Trickle(socket.socket):
    """A connection over which one byte comes at a time, each half a second after the last."""

    def __init__(self, content: bytes) -> None:
        super().__init__(socket.AF_UNIX)
        self.left = content
        self.now = 0.0

    def recv(self, _size: int, _flags: int = 0) -> bytes:
        self.now += 0.5
        part, self.left = self.left[:1], self.left[1:]
        return part


@pytest.mark.parametrize(("patience_s", "comes"), [(2.0, False), (10.0, True)])
def test_a_message_that_trickles_in_has_one_limit_for_all_of_it(
    monkeypatch: pytest.MonkeyPatch, patience_s: float, *, comes: bool
) -> None:
    with Trickle(struct.pack(">I", 6) + b"abcdef") as connection:
        monkeypatch.setattr("time.monotonic", lambda: connection.now)
        if comes:
            assert signer_wire.receive(connection, patience_s) == b"abcdef"
        else:
            with pytest.raises(TimeoutError):
                signer_wire.receive(connection, patience_s)
