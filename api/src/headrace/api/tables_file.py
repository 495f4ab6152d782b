"""TOML files of a site, tables of one kind in each, as settings name them: what is wrong in one, and where."""

import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from headrace.api.settings import SettingError

_Form = TypeVar("_Form", bound=BaseModel)


def read_tables(setting: str, path: Path, form: type[_Form]) -> _Form:
    """Read a file into a form; raises `SettingError` that names setting, file, table and field."""
    try:
        return form.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        message = f"`{setting}`: `{path}`, {_place(first['loc'])}: {first['msg']}"
        raise SettingError(message) from error
    except OSError as error:
        message = f"`{setting}`: `{path}` can't be read: {error.strerror}"
        raise SettingError(message) from error
    except ValueError as error:
        message = f"`{setting}`: `{path}` is not TOML: {error}"
        raise SettingError(message) from error


def _place(parts: tuple[int | str, ...]) -> str:
    """Say where: `directory` 2, `servers` 1; a validator of a whole table names no field."""
    said: list[str] = []
    for part in parts:
        if isinstance(part, int) and said:
            said[-1] += f" {part + 1}"
        else:
            said.append(f"`{part}`")
    return ", ".join(said)
