"""A model that answers in words, behind an address with OpenAI's form of ``POST /chat/completions``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graph.errors import UnavailableError, ValidationError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

SECONDS = 120.0  # for one answer, all its attempts included
ATTEMPTS = 3  # where the endpoint is busy or falls over; the client waits in between
ANSWER_TOKENS_MAX = 8_000
ANSWER_BYTES_MAX = 1_000_000  # as JSON; so many tokens take less


@dataclass(frozen=True, slots=True)
class ChatChoice:
    """Which model is asked.

    Attributes:
        base: The address that ``/chat/completions`` is put behind; empty where none is to be asked.
        model: Its name there.
        key: Sent as a bearer token; none when empty.
    """

    base: str = ""
    model: str = ""
    key: str = field(default="", repr=False)


NOBODY = ChatChoice()


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens that answers took: of what was asked, of that what the endpoint had kept, and of what was answered."""

    asked: int = 0
    cached: int = 0
    answered: int = 0

    def __add__(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(self.asked + other.asked, self.cached + other.cached, self.answered + other.answered)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered, and what that took; whether it was cut off before its end."""

    text: str
    cost: Cost
    cut: bool = False


class Chat:
    """Asks a model.

    Args:
        choice: Which; its address is not empty.
        seconds: For one answer.

    Raises:
        ValidationError: the choice names no model, or its address is none.
    """

    def __init__(self, choice: ChatChoice, seconds: float = SECONDS) -> None:
        if not choice.model:
            raise ValidationError(
                "an endpoint needs the name of a model",
                field="WHENCE_CHAT_MODEL",
                allowed="the name that the model has there",
            )
        if not choice.base.startswith(("http://", "https://")):
            raise ValidationError("WHENCE_CHAT is no address", field="WHENCE_CHAT", allowed="http:// or https://")
        self._choice = choice
        self._seconds = seconds
        self._client: AsyncOpenAI | None = None

    @property
    def model(self) -> str:
        """Its name."""
        return self._choice.model

    async def asked(self, system: str, user: str) -> Reply:
        """The model's answer, with no chance in it as far as the model allows.

        Args:
            system: What it is to do.
            user: What with; data, whatever it says.

        Raises:
            UnavailableError: it cannot be had, or did not answer in time.
            ValidationError: it takes no such text, or the key is refused.
        """
        from openai import APIError, APIStatusError  # noqa: PLC0415  a second that only this needs

        try:
            async with asyncio.timeout(self._seconds):
                body = await self._posted(system, user)
        except TimeoutError:
            raise away("it did not answer in time") from None
        except APIStatusError as error:
            if error.status_code in _REFUSED:
                raise ValidationError(
                    f"the model refused with {error.status_code}",
                    field="WHENCE_CHAT",
                    allowed="a key that the endpoint takes, and texts that the model takes",
                ) from error
            raise away(f"the endpoint answered {error.status_code}") from error
        except APIError as error:
            raise away(f"{type(error).__name__} at the endpoint") from error
        return _read(body)

    async def _posted(self, system: str, user: str) -> bytes:
        """The answer as it came, read no further than an answer may be long."""
        create = self._opened().chat.completions.with_streaming_response.create
        body = bytearray()
        async with create(
            model=self._choice.model,
            messages=[{"role": "system", "content": system}, {"role": "user", "content": user}],
            temperature=0,
            max_tokens=ANSWER_TOKENS_MAX,
        ) as answer:
            async for chunk in answer.iter_bytes():
                body += chunk
                if len(body) > ANSWER_BYTES_MAX:
                    raise away("its answer is too large")
        return bytes(body)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _opened(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI  # noqa: PLC0415

        if self._client is None:
            self._client = AsyncOpenAI(
                base_url=self._choice.base, api_key=self._choice.key or "none", max_retries=ATTEMPTS - 1
            )
        return self._client


@asynccontextmanager
async def chatting(choice: ChatChoice) -> AsyncGenerator[Chat | None]:
    """The model that is wanted, its connections closed at the end; None where none is.

    Raises:
        ValidationError: as for ``Chat``.
    """
    chat = Chat(choice) if choice.base else None
    try:
        yield chat
    finally:
        if chat is not None:
            await chat.close()


_REFUSED = frozenset((400, 401, 403, 404, 413, 422))  # asking again changes nothing


def _read(body: bytes) -> Reply:
    """The reply in an answer whose form nobody has checked."""
    try:
        answer: Any = json.loads(body)
        choice: Any = answer["choices"][0]
        text: object = choice["message"]["content"] or ""
        cost = _cost(answer.get("usage"))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise away("its answer is not of OpenAI's form") from error
    if not isinstance(text, str):
        raise away("its answer is not of OpenAI's form")
    return Reply(text, cost, cut=choice.get("finish_reason") == "length")


def _cost(usage: Any) -> Cost:
    """What an answer says that it took; nothing where it says nothing."""
    if not usage:
        return Cost()
    details: Any = usage.get("prompt_tokens_details") or dict[str, int]()
    numbers = (usage.get("prompt_tokens"), details.get("cached_tokens"), usage.get("completion_tokens"))
    return Cost(*(int(number or 0) for number in numbers))


def away(why: str) -> UnavailableError:
    """That the model cannot be had."""
    return UnavailableError(
        f"the model cannot be had: {why}", field="WHENCE_CHAT", allowed="the same request later, or no WHENCE_CHAT"
    )
