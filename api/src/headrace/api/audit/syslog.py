"""Syslog over TLS (RFC 5424 in the frames of RFC 5425), to one receiver.

Syslog has no answer that says what was kept. What this knows while a connection is open is that the kernel of the
receiver's host has acknowledged every byte, and whether the receiver has ended the connection since: with TLS 1.3 it
may refuse a client's certificate after it was sent the first messages. That the receiver itself has read them is known
when it answers the end of the connection (RFC 5425, section 4.4): one that hangs leaves them with its kernel.
"""

import fcntl
import re
import socket
import ssl
import struct
import termios
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PATIENCE_S: Final = 10
"""For a connection, for what was written to be acknowledged, and for the receiver to read it."""
_ACKNOWLEDGED_S: Final = 0.005
"""Between two looks at what is not acknowledged yet."""
_AUDIT_INFO: Final = 13 * 8 + 6
"""Facility 13 (log audit), severity 6 (informational)."""
_NO_NAME: Final = "-"
_NOT_PRINTED: Final = re.compile(r"[^\x21-\x7e]+")
_MAX_HOST: Final = 255
_MAX_KIND: Final = 32


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where a syslog server listens, and what vouches for it and for us: files in PEM, empty for none."""

    host: str
    port: int
    ca: str = ""
    """Whom to trust; empty: the authorities of this system."""
    cert: str = ""
    key: str = ""

    def tls(self) -> ssl.SSLContext:
        """Return how to connect; raises `OSError` for files that can't be used, a key with a password among them."""
        context = ssl.create_default_context(cafile=self.ca or None)
        if self.cert:
            context.load_cert_chain(self.cert, self.key or None, password="")
        return context


@dataclass(frozen=True, slots=True)
class Message:
    """One message: when (RFC 3339), of which kind (RFC 5424's MSGID), and its text."""

    at: str
    kind: str
    text: bytes


class SyslogLine:
    """A connection that is made when something is sent. Blocks: call it in a thread."""

    def __init__(self, receiver: Receiver) -> None:
        """Connect to nobody yet; raises `OSError` for files that can't be used."""
        receiver.tls()
        self.receiver = receiver
        self._name = _NOT_PRINTED.sub("", socket.gethostname())[:_MAX_HOST] or _NO_NAME
        self._connection: ssl.SSLSocket | None = None
        self._one_at_a_time = threading.Lock()

    def is_open(self) -> bool:
        """Whether there is a connection that the server has not ended."""
        with self._one_at_a_time:
            if self._connection is not None and _has_ended(self._connection):
                self.close()
            return self._connection is not None

    def send(self, messages: Sequence[Message]) -> None:
        """Send messages and wait until the other host's kernel has them; raises `OSError`, and then it may have some.

        Whether the server wants them shows later: see `is_open`.
        """
        with self._one_at_a_time:
            try:
                if self._connection is None:
                    self._connection = self._connected()
                self._connection.sendall(b"".join(map(self._frame, messages)))
                _wait_until_acknowledged(self._connection)
            except OSError:
                self.close()
                raise

    def finish(self) -> None:
        """End the connection once the server has read all that was sent; raises `OSError`, and then it may not have."""
        with self._one_at_a_time:
            if self._connection is None:
                message = "the connection has ended"
                raise ConnectionError(message)
            try:
                _wait_until_read(self._connection)
            finally:
                self.close()

    def close(self) -> None:
        """Let the connection go, whatever was read."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connected(self) -> ssl.SSLSocket:
        tls = self.receiver.tls()  # anew: certificates are renewed
        plain = socket.create_connection((self.receiver.host, self.receiver.port), PATIENCE_S)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, PATIENCE_S * 1000)
            return tls.wrap_socket(plain, server_hostname=self.receiver.host)
        except BaseException:
            plain.close()
            raise

    def _frame(self, message: Message) -> bytes:
        head = f"<{_AUDIT_INFO}>1 {message.at} {self._name} headrace - {message.kind[:_MAX_KIND]} - "
        text = head.encode("ascii") + message.text
        return b"%d %b" % (len(text), text)


def _has_ended(connection: ssl.SSLSocket) -> bool:
    """Whether the receiver has ended the connection; a receiver of syslog says nothing else."""
    connection.settimeout(0)
    try:
        return connection.recv(1) == b""
    except ssl.SSLWantReadError:
        return False
    except OSError:
        return True
    finally:
        connection.settimeout(PATIENCE_S)


def _wait_until_read(connection: ssl.SSLSocket) -> None:
    """Say the end, and wait for the other side's: it comes to that behind everything else."""
    try:
        connection.unwrap()
    except TimeoutError:
        message = f"the server takes what it is sent and does not read it: it answered no end for {PATIENCE_S} s"
        raise TimeoutError(message) from None
    except OSError as error:
        # An end without its last word counts, too: with something unread, the kernel there would have reset it.
        if not isinstance(error, ssl.SSLEOFError) and error.errno != 0:
            raise


def _wait_until_acknowledged(connection: ssl.SSLSocket) -> None:
    limit = time.monotonic() + PATIENCE_S
    while struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, b"\0" * 4))[0]:
        if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            message = "the receiver has ended the connection"
            raise ConnectionResetError(message)
        if time.monotonic() >= limit:
            message = f"the receiver takes nothing for {PATIENCE_S} s"
            raise TimeoutError(message)
        time.sleep(_ACKNOWLEDGED_S)
