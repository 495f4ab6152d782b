"""A body of many fields or items gets a few errors: writing one for each would hold everybody's loop."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError

from headrace.api.http import people_routes, plan_routes, sign_in_routes, site_routes, transfer_routes

ROUTERS = (people_routes, plan_routes, sign_in_routes, site_routes, transfer_routes)
MANY = 5_000
FLOODS: tuple[Any, ...] = ({f"{number}": 1 for number in range(MANY)}, [1] * MANY, [{}] * MANY)
FEW_ERRORS = 600
"""The longest list that a request may have is of 500 items."""


def _bodies() -> dict[str, type[BaseModel]]:
    routes = [route for module in ROUTERS for route in module.router.routes if isinstance(route, APIRoute)]
    fields = [route.body_field.field_info.annotation for route in routes if route.body_field is not None]
    return {model.__name__: model for field in fields for model in _models_in(field)}


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401 - any annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _paths(model: type[BaseModel], above: tuple[type[BaseModel], ...] = ()) -> Iterator[tuple[str, ...]]:
    """Name each field of a model, and of what it holds, by the way there."""
    for name, field in model.model_fields.items():
        key = field.alias or name
        yield (key,)
        for part in _models_in(field.annotation):
            if part not in above:
                yield from ((key, *rest) for rest in _paths(part, (*above, model)))


def _placed(path: tuple[str, ...], flood: Any, *, listed: bool) -> Any:  # noqa: ANN401 - any JSON
    for key in reversed(path):
        flood = {key: [flood] if listed and key == path[0] else flood}
    return flood


def _errors(adapter: TypeAdapter[Any], given: Any) -> int:  # noqa: ANN401 - any JSON
    try:
        adapter.validate_python(given)
    except ValidationError as error:
        return error.error_count()
    return 0


def test_the_bodies_of_requests_are_found() -> None:
    assert {"PlanRequest", "PolicyText", "Proven", "EndpointUpdate", "GroupBindingsRequest"} <= _bodies().keys()


@pytest.mark.parametrize("name", sorted(_bodies()))
def test_no_body_gets_an_error_for_each_of_many_fields_or_items(name: str) -> None:
    model = _bodies()[name]
    adapter = TypeAdapter(model)
    for path in ((), *_paths(model)):
        for flood in FLOODS:
            for listed in (False, True):
                found = _errors(adapter, _placed(path, flood, listed=listed))
                assert found < FEW_ERRORS, (path, listed)
