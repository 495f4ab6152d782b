"""What is wrong with a request, in words: its body, its fields, its query."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel

from headrace.api.errors import Code, ServiceError
from headrace.client.mistakes import in_words, nearest
from headrace.client.text import visible

_MAX_FIELDS: Final = 20
_MAX_NAME: Final = 60
_NO_OBJECT: Final = frozenset({"model_attributes_type", "model_type", "dict_type"})


def mistakes_of(request: Request, error: RequestValidationError) -> tuple[str, tuple[str, ...]]:
    """Say what is wrong with a request, and in which fields."""
    found = error.errors()[:_MAX_FIELDS]
    if found[0]["type"] == "json_invalid":
        why = str((found[0].get("ctx") or {}).get("error", "")).lower()
        return f"the body is not JSON ({why}, at character {found[0]['loc'][-1]}): send one JSON object", ("body",)
    if tuple(found[0]["loc"]) == ("body",):
        if found[0]["type"] in _NO_OBJECT and isinstance(found[0].get("input"), bytes | str):
            said = "the body was not read as JSON: send it with the header `Content-Type: application/json`"
        else:
            said = "this takes a body: send one JSON object, with the header `Content-Type: application/json`"
        return said, ("body",)
    names = tuple(".".join(str(part) for part in one["loc"][1:] or one["loc"]) for one in found)
    said = "; ".join(f"`{name}` {_said(request, one)}" for name, one in zip(names, found, strict=True))
    return said, names


async def require_known_query(request: Request) -> None:
    """Refuse a query with a parameter that the route does not take: it would be passed over."""
    if not request.query_params:
        return
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return
    known = _query_of(route)
    for name in request.query_params:
        if name not in known:
            shown = visible(name[:_MAX_NAME])
            takes = f"It takes {', '.join(f'`{one}`' for one in sorted(known))}." if known else "It takes none."
            raise ServiceError(
                Code.INVALID_REQUEST,
                f"there is no query parameter `{shown}` here{_meant(name, known) or '.'} {takes}",
                fields=(shown,),
            )


def _query_of(route: APIRoute) -> frozenset[str]:
    return frozenset(_queries(route.dependant))


def _queries(dependant: Dependant) -> Iterator[str]:
    """Yield the parameters that a route takes, and what it depends on."""
    yield from (one.alias for one in dependant.query_params)
    for one in dependant.dependencies:
        yield from _queries(one)


def _said(request: Request, error: Mapping[str, Any]) -> str:
    *inside, name = error["loc"][1:] or error["loc"]
    said = in_words(error, str(name))
    if error["type"] != "extra_forbidden":
        return said
    if (into := _belongs(str(name), _model_at(request, inside))) is not None:
        return f'{said}; put it into `{into}`, as {{"{into}": {{"{name}": ...}}}}'
    return said + _meant(str(name), _fields(request, inside))


def _belongs(name: str, model: type[BaseModel] | None) -> str | None:
    """Return the field of a model that holds an object with a field of this name: one level was forgotten."""
    for outer, field in model.model_fields.items() if model is not None else ():
        below = _model(field.annotation)
        if below is not None and name in below.model_fields:
            return outer
    return None


def _meant(name: str, known: frozenset[str]) -> str:
    near = nearest(name, sorted(known))
    return f"; did you mean `{near}`?" if near else ""


def _fields(request: Request, inside: Sequence[str | int]) -> frozenset[str]:
    """Return the fields that the body has there, as far as its models say."""
    model = _model_at(request, inside)
    return frozenset(model.model_fields) if model is not None else frozenset()


def _model_at(request: Request, inside: Sequence[str | int]) -> type[BaseModel] | None:
    """Return the model of what the body has there, as far as its models say."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute) or not route.dependant.body_params:
        return None
    model = _model(route.dependant.body_params[0].field_info.annotation)
    for part in inside:
        if isinstance(part, str) and model is not None:
            field = model.model_fields.get(part)
            model = None if field is None else _model(field.annotation)
    return model


def _model(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - an annotation
    """Return the model in an annotation, such as that of `Intent | None` or of a list of them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for one in get_args(annotation) if (model := _model(one)) is not None), None)
