"""docs/security/access.md is the table of who may ask for what."""

import os

from tests.interfaces import rights


def test_the_page_of_access_is_what_its_table_says() -> None:
    fresh = rights.rendered(rights.read())
    if os.environ.get("HEADRACE_WRITE_GOLDEN"):
        rights.PAGE.write_text(fresh, encoding="utf-8")
    assert rights.PAGE.read_text(encoding="utf-8") == fresh
