"""What of a statement's parameters the driver is kept from spelling out."""

from __future__ import annotations

from typing import Any, cast


class _Untold(list[Any]):
    def __repr__(self) -> str:
        return f"<{len(self)} values>"


def untold(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters whose lists the driver does not spell out.

    It spells out all that it sends, for a log that hardly anybody keeps and that should hold no texts; for vectors that
    takes ten times as long as sending them.
    """
    return {
        name: _Untold(cast("list[Any]", value)) if isinstance(value, list) else value for name, value in params.items()
    }
