"""The decision pages: a number is one page's, and what is cited exists."""

import re

from tests.faults.run import REPOSITORY

PAGES = sorted((REPOSITORY / "docs" / "decisions").glob("*.md"))


def test_each_decision_has_a_number_of_its_own_that_its_heading_says() -> None:
    numbers = [int(page.name.partition("-")[0]) for page in PAGES]
    assert numbers == list(range(1, len(PAGES) + 1))
    for number, page in zip(numbers, PAGES, strict=True):
        assert page.read_text(encoding="utf-8").startswith(f"# {number}. "), page.name


def test_a_decision_is_cited_by_the_name_of_its_page() -> None:
    where = ("*.md", "docs/**/*.md", "*/src/**/*.py", "engine/*.toml", "engine/crates/**/*.rs", "engine/python/**/*.py")
    texts = {path: path.read_text(encoding="utf-8") for pattern in where for path in REPOSITORY.glob(pattern)}
    cited = {
        (path, page) for path, text in texts.items() for page in re.findall(r"decisions/(\d[\w-]*(?:\.md)?)", text)
    }
    assert len(cited) >= 3
    assert {(path.name, page) for path, page in cited if page not in {page.name for page in PAGES}} == set()
