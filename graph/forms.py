"""What a caller wrote, checked to be of the form that is asked for: objects, lists and members of enumerations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar, cast

from graph.errors import ValidationError, quoted

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


def known_fields(given: Mapping[str, Any], known: frozenset[str] | set[str], prefix: str) -> None:
    """Refuse an object with a field that none of its kind has; ``prefix`` stands before its fields' names."""
    for name in given:
        if name not in known:
            raise ValidationError(
                f"there is no field {name!r}"[:200].encode(errors="replace").decode(),
                field=f"{prefix}{name}"[:200].encode(errors="replace").decode(),
                allowed=", ".join(sorted(known)) or "no fields",
            )


def mapping(value: object, name: str) -> Mapping[str, Any]:
    """The value, which must be an object."""
    if not isinstance(value, Mapping):
        raise ValidationError(f"{name} must be an object", field=name, allowed="an object")
    return cast(Mapping[str, Any], value)


def sequence(value: object, name: str, items_max: int) -> Sequence[Any]:
    """The value, which must be a list of at most ``items_max`` items; an empty one for null."""
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise ValidationError(f"{name} must be a list", field=name, allowed="a list")
    items = cast(Sequence[Any], value)
    if len(items) > items_max:
        raise ValidationError(
            f"{name} has {len(items)} items", field=name, position=items_max, allowed=f"at most {items_max} items"
        )
    return items


def maybe(check: Callable[[object, str], T], value: object, name: str) -> T | None:
    """The value, checked unless it is null."""
    return None if value is None else check(value, name)


def member(kind: type[E], value: object, name: str) -> E:
    """The member of an enumeration that the value names."""
    if isinstance(value, str) and value in kind.__members__.values():
        return kind(value)
    said = f": {quoted(value)}" if isinstance(value, str) else ""
    allowed = ", ".join(each.value for each in kind)
    raise ValidationError(f"{name} is not one of the known values{said}", field=name, allowed=allowed)
