"""Migrations stand in one line: two that follow the same one would start no service."""

import re
from itertools import pairwise

from tests.faults.run import REPOSITORY

VERSIONS = REPOSITORY / "api" / "src" / "headrace" / "api" / "store" / "migrations" / "versions"


def test_each_migration_follows_the_one_before_it_and_is_called_so() -> None:
    files = sorted(VERSIONS.glob("[0-9]*.py"))
    said = {
        file: re.findall(r'^(?:down_)?revision = "?(\w+)"?$', file.read_text("utf-8"), re.MULTILINE) for file in files
    }
    assert [said[file][0] for file in files] == [file.name[:4] for file in files]
    assert [said[file][1] for file in files[1:]] == [before.name[:4] for before, _ in pairwise(files)]
