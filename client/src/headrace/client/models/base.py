"""What all models stand on: the base class, limits of single values, and the problem document."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Words = Annotated[str, StringConstraints(min_length=1, max_length=4000)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=120)]
Location = Annotated[str, StringConstraints(min_length=1, max_length=5000)]
Handle = Annotated[str, StringConstraints(max_length=120)]
Zone = Annotated[str, StringConstraints(max_length=64)]
Count = Annotated[int, Field(ge=0)]


class Model(BaseModel):
    """Base: frozen, unknown fields refused (a typing mistake in a request must not be ignored)."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Problem(Model):
    """RFC 9457 problem document. `code` is stable and listed in docs/errors.md."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    instance: str | None = None
    fields: list[str] = []
