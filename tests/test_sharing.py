"""Requests that share a statement: each has its answer, whoever else waits, fails or gives up."""

from __future__ import annotations

import asyncio

import pytest

from graph.sharing import TOGETHER_MAX, UNDER_WAY_MAX, Shared


def test_every_request_is_answered_also_by_those_who_ask_again_at_once() -> None:
    sizes = list[int]()

    async def read(kind: str, asked: list[int]) -> list[str]:
        sizes.append(len(asked))
        await asyncio.sleep(0)
        return [f"{kind}{one}" for one in asked]

    async def caller(shared: Shared[str, int, str], number: int) -> None:
        for again in range(20):
            kind = "ab"[(number + again) % 2]
            assert await shared.get(kind, number) == f"{kind}{number}"

    async def all_of_them() -> None:
        shared = Shared(read)
        await asyncio.wait_for(asyncio.gather(*(caller(shared, number) for number in range(100))), 10)

    asyncio.run(all_of_them())
    assert max(sizes) <= TOGETHER_MAX
    assert sum(sizes) == 100 * 20
    assert len(sizes) < sum(sizes) / 2


def test_a_kind_that_is_slow_holds_up_no_other() -> None:
    async def both() -> str:
        stuck = asyncio.Event()

        async def read(kind: str, asked: list[int]) -> list[str]:
            if kind == "slow":
                await stuck.wait()
            return [kind for _ in asked]

        shared = Shared(read)
        slow = [asyncio.ensure_future(shared.get("slow", i)) for i in range(UNDER_WAY_MAX * 2)]
        await asyncio.sleep(0)
        answer = await asyncio.wait_for(shared.get("quick", 1), 1)
        stuck.set()
        assert await asyncio.gather(*slow) == ["slow"] * len(slow)
        return answer

    assert asyncio.run(both()) == "quick"


def test_an_error_is_told_to_those_who_shared_it_and_to_no_one_later() -> None:
    async def read(_kind: str, asked: list[int]) -> list[int]:
        if 0 in asked:
            raise ValueError("no")
        return asked

    async def ask() -> None:
        shared = Shared(read)
        told = await asyncio.gather(shared.get("k", 0), shared.get("k", 1), return_exceptions=True)
        assert all(isinstance(error, ValueError) for error in told)
        assert await shared.get("k", 2) == 2
        given_up = asyncio.ensure_future(shared.get("k", 3))
        await asyncio.sleep(0)
        given_up.cancel()
        assert await shared.get("k", 4) == 4
        with pytest.raises(asyncio.CancelledError):
            await given_up

    asyncio.run(ask())
