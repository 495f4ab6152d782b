"""A site with more endpoints than a page of the list holds: each is found where it is looked for."""

import re

import pytest
from playwright.sync_api import expect
from tests.browser.house import ADMIN, House

LONG_MS = 60_000


@pytest.fixture(autouse=True, scope="module")
def crowd(house: House) -> None:
    """Endpoints before those that there are, and one behind them."""
    house.crowd([*(f"a{number:03}" for number in range(120)), "zeta"])


def test_the_list_of_endpoints_goes_on_and_is_searched_by_the_service(house: House) -> None:
    page = house.page("vera", "/endpoints")
    table = page.get_by_role("group", name="Endpoints", exact=True)
    expect(table.get_by_role("row")).to_have_count(101)
    page.get_by_role("button", name="Show more: Endpoints").click()
    expect(table.get_by_role("row")).to_have_count(1 + 120 + 3, timeout=LONG_MS)
    expect(page.get_by_role("button", name="Show more: Endpoints")).to_have_count(0)
    page.get_by_label("Find").fill("ZET")
    expect(table.get_by_role("row")).to_have_count(2)
    expect(table).to_contain_text("zeta")
    expect(page).to_have_url(re.compile("find=ZET"))
    page.get_by_label("Find").fill("nowhere")
    expect(page.get_by_text("No endpoint fits")).to_be_visible()
    page.get_by_label("Find").fill("")
    page.get_by_label("Label", exact=True).fill("site=nowhere")
    expect(page.get_by_text("No endpoint fits")).to_be_visible()


def test_a_form_finds_an_endpoint_that_stands_on_no_first_page_by_part_of_its_name(house: House) -> None:
    page = house.page("ada", "/new?view=browse")
    source = page.get_by_role("region", name="Source")
    choice = source.get_by_role("combobox", name="Source")
    expect(choice.get_by_role("option", name="krios1")).to_have_count(0)
    source.get_by_role("textbox", name="Search: Source").fill("rios")
    choice.select_option("krios1")
    source.get_by_role("textbox", name="Search: Source").fill("a0")
    expect(choice.get_by_role("option", name=re.compile("a001"))).to_have_count(1)
    expect(choice).to_have_value("krios1")
    source.get_by_role("button", name="Choose run42", exact=True).click()
    expect(source.get_by_text("krios1:/run42")).to_be_visible()
    form = house.page("ada", "/new?view=form")
    form.get_by_role("textbox", name="Source").fill("kri")
    expect(form.get_by_text("endpoints: krios1")).to_be_visible()


def test_a_probe_finds_both_its_endpoints(house: House) -> None:
    page = house.page(ADMIN, "/endpoints")
    page.get_by_role("button", name="Probe a way").click()
    form = page.get_by_role("dialog")
    for end, name in (("Source", "krios1"), ("Destination", "archive")):
        form.get_by_role("textbox", name=f"Search: {end}").fill(name[1:])
        form.get_by_role("combobox", name=end).select_option(name)
        expect(form.get_by_role("combobox", name=end)).to_have_value(name)
    expect(form.get_by_role("button", name="Plan the probe")).not_to_have_attribute("aria-disabled", "true")
