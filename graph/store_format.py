"""In which form a store is written: a version of its schema and one of its journal, recorded in the store itself.

The schema's version says what of the projection, its indexes and its settings is there; the journal's, how an event is
written and hashed. Stores from before versions have none and count as version 0. A newer store is not touched: what it
holds would be misread.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from neo4j import AsyncDriver

from graph import queries
from graph.errors import UnavailableError

SCHEMA_VERSION = 1
JOURNAL_VERSION = 1


@dataclass(frozen=True, slots=True)
class StoreFormat:
    """The form of one store.

    Attributes:
        schema_version: Of its schema.
        journal_version: Of its journal.
        written_by: The version of Whence that recorded both; None where nobody has.
        populated: Whether any project has events.
    """

    schema_version: int
    journal_version: int
    written_by: str | None
    populated: bool


async def read(driver: AsyncDriver, database: str) -> StoreFormat:
    """The form of a store; the driver's errors are raised as they are."""
    records, _, _ = await driver.execute_query(queries.load("store_format_get").text, database_=database)
    return StoreFormat(*records[0].values())


async def record(driver: AsyncDriver, database: str) -> None:
    """Record that a store is of this version; the driver's errors are raised as they are."""
    parameters = recorded(SCHEMA_VERSION)
    await driver.execute_query(queries.load("store_format_put").text, parameters, database_=database)


def recorded(schema_version: int) -> dict[str, Any]:
    """What is recorded of a store that is of a version of its schema now."""
    return {
        "schema_version": schema_version,
        "journal_version": JOURNAL_VERSION,
        "written_by": version("whence"),
    }


def require_known(found: StoreFormat) -> None:
    """Refuse a store that a newer Whence has written.

    Raises:
        UnavailableError: its schema or its journal is newer; says which Whence is needed.
    """
    if found.schema_version <= SCHEMA_VERSION and found.journal_version <= JOURNAL_VERSION:
        return
    raise UnavailableError(
        f"the store is of schema version {found.schema_version} and journal version {found.journal_version}, and this "
        f"Whence, {version('whence')}, knows {SCHEMA_VERSION} and {JOURNAL_VERSION}",
        field="NEO4J_URI",
        allowed=f"Whence {found.written_by or 'of a later version'} or later, which wrote it; or another store",
    )
