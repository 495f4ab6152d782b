"""What is wrong with a text of links, classes and calendars is said with where it is and what to do."""

from time import perf_counter

import pytest
from tests.pure.api.qos_texts import BAD, LINKED

from headrace.api.policy.qos_rules import problems_of, read
from headrace.client import models as m

OF_NODES = {"an unknown node", "a pair of an unknown endpoint"}
"""What only a site can know."""


def problems(text: str) -> list[m.QosProblem]:
    found = read(text)
    return problems_of(found) if isinstance(found, m.QosDocument) else found


def test_a_text_that_is_right_has_no_problem() -> None:
    assert problems(LINKED) == []


@pytest.mark.parametrize("what", [what for what in BAD if what not in OF_NODES])
def test_a_bad_text_is_refused(what: str) -> None:
    text, where, said = BAD[what]
    found = problems(text)
    assert any(one.where == where and said in one.message for one in found), found
    assert all(";" in one.message for one in found)


def test_what_takes_a_reader_long_is_refused_in_a_moment_wherever_it_stands() -> None:
    dotted = "a." * 20 + "a"
    began = perf_counter()
    for text in (
        f"{dotted} = 1",
        f"[{dotted}]",
        f"[[{dotted}]]",
        f"a = {{ {dotted} = 1 }}",
        f'"x y" = 1\n{dotted} = 1',
    ):
        assert "has more than 8 parts" in problems(text)[0].message, text
    for text in (dotted * 4000, "[" * 200_000, '"' * 200_000, "'" * 200_000, '"""\\' * 40_000, "a = {" * 40_000):
        assert problems(text)
    assert perf_counter() - began < 10


def test_strings_and_comments_may_hold_any_signs() -> None:
    dots = "a.b.c.d.e.f.g.h.i.j.k " + "[{" * 30
    for note in (f"# {dots}", f'x = "{dots}"', f"x = '{dots}'", f'x = """\n{dots}\n"""', f"x = '''\n{dots}\n'''"):
        said = " ".join(one.message for one in problems(LINKED + note + "\n"))
        assert "parts" not in said, note
        assert "nested" not in said, note
