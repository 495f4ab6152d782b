"""Files of secrets, as a site keeps them."""

from pathlib import Path


def private(file: Path, text: str) -> None:
    """Write a file that nobody else reads."""
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")
