"""No object of the product shows a secret when it is printed or logged: no field that holds one is in its repr."""

import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType

from pydantic import BaseModel

import headrace.api
import headrace.auth
import headrace.cli
import headrace.client
import headrace.mcp_server
from headrace.api.settings import Settings

HOLDS_A_SECRET = re.compile(r"(?:^|_)(?:secret|password|password_hash|token|verifier|grant|device_code|link|pin_code)$")
NO_SECRETS = {
    "Principal.token",  # the id of an API token
    "_Place.token",  # the label of a PKCS#11 token
    "Link.link",
    "QosClassLink.link",  # links of a network, by name
    "QosLinkUse.link",
    "TransferShare.ceiling_link",
}
ELSEWHERE_NAMED = {"_Waiting.code"}
"""Secrets in fields whose names do not say so."""
PACKAGES = (headrace.api, headrace.auth, headrace.cli, headrace.client, headrace.mcp_server)


def modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if "migrations" not in found.name and not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def fields() -> Iterator[tuple[str, bool]]:
    """Name each field of text of each class that prints its fields, and whether it prints this one."""
    classes = {
        one
        for package in PACKAGES
        for module in modules(package)
        for one in vars(module).values()
        if isinstance(one, type) and one.__module__.startswith("headrace.")
    }
    for one in classes:
        if dataclasses.is_dataclass(one) and one.__repr__.__qualname__ == f"{one.__qualname__}.__repr__":
            for field in dataclasses.fields(one):
                if is_text(field.type):
                    yield f"{one.__name__}.{field.name}", field.repr
        elif issubclass(one, BaseModel):
            for name, shown in one.model_fields.items():
                if is_text(shown.annotation):
                    yield f"{one.__name__}.{name}", shown.repr


def is_text(declared: object) -> bool:
    return re.search(r"\b(?:str|bytes)\b", str(declared)) is not None


def test_no_object_shows_its_secrets_when_it_is_printed() -> None:
    found = dict(fields())
    secret = {name for name in found if HOLDS_A_SECRET.search(name.partition(".")[2])} - NO_SECRETS | ELSEWHERE_NAMED
    assert {"SignIn.password", "SessionRecord.hash", "Leader.secret", "SavedSession.secret"} <= found.keys()
    assert sorted(name for name in secret if found[name]) == []


def test_settings_show_no_password_of_a_database() -> None:
    shown = repr(Settings(database="postgresql://headrace:pass-of-the-store@db.example/headrace"))
    assert "pass-of-the-store" not in shown
