"""Files of secrets that the site's settings name."""

from pathlib import Path

from headrace.guardrails import SealError, read_private_file


def read_secret(file: Path) -> bytes:
    """Read a password that the site keeps for the service; raises `ValueError`, `OSError`.

    Its file, wherever a link leads, is the service's own or of root, and at most their group reads it, too.
    """
    try:
        return read_private_file(file.resolve(), shared_with_group=True)
    except SealError as error:
        raise ValueError(str(error)) from error
