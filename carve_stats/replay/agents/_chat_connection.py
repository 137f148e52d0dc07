"""`ChatConnection`: a client of one event loop, and what becomes of one request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

from carve_stats.errors import MissingExtraError, one_line
from carve_stats.replay.agents._rate_limit import Clock, RequestGate

__all__ = ["ChatConnection", "Outcome", "require_client_library"]


class Outcome(NamedTuple):
    """What became of one request.

    Parameters
    ----------
    wave : int
        The gate's, for `RequestGate.limit`.
    seconds : float
        From sending to the end.
    status : int or None
        Of HTTP; None where no response began.
    headers : mapping of str to str
        Of the response, named in lower case.
    content : bytes
        The whole body; empty where it did not come.
    failure : str or None
        Why there is no whole response.
    timed_out : bool
        Whether that was the time.
    """

    wave: int
    seconds: float
    status: int | None = None
    headers: Mapping[str, str] = {}
    content: bytes = b""
    failure: str | None = None
    timed_out: bool = False


class ChatConnection:
    """A client, whose connections are closed when its event loop ends.

    Parameters
    ----------
    base_url, api_key : str
        Of the server.
    timeout : float
        Seconds that one request may take.
    clock : Clock
        For the gate.
    """

    def __init__(self, base_url: str, api_key: str, *, timeout: float, clock: Clock) -> None:
        import openai

        # Its own retries would hide requests, and its time-outs are of single reads.
        self._client = openai.AsyncOpenAI(
            base_url=base_url, api_key=api_key, max_retries=0, timeout=None
        )
        self._timeout = timeout
        self._clock = clock
        self._life = self._live()
        self.gate = RequestGate(clock)

    async def open(self) -> None:
        """Have the running event loop close the connection when it ends."""
        await anext(self._life)

    async def aclose(self) -> None:
        """Close the connection now."""
        await self._life.aclose()

    async def _live(self) -> AsyncGenerator[None, None]:
        # A loop that ends, as that of asyncio.run, closes the generators that began in it.
        try:
            yield
        finally:
            await self._client.close()

    async def post(self, body: Mapping[str, Any]) -> Outcome:
        """Ask for one completion, as soon as the gate lets it pass.

        Parameters
        ----------
        body : mapping
            Of the request.

        Returns
        -------
        Outcome
            Whatever happened.
        """
        import openai

        wave = await self.gate.enter()
        began = self._clock.time()
        status: int | None = None
        headers: Mapping[str, str] = {}
        content = b""
        failure = None
        timed_out = False
        others = {name: value for name, value in body.items() if name not in ("model", "messages")}
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._client.chat.completions.with_streaming_response.create(
                    model=body["model"], messages=body["messages"], extra_body=others
                ) as response,
            ):
                status, headers = response.status_code, response.headers
                content = await response.read()
        except openai.APIStatusError as error:
            status, headers = error.status_code, error.response.headers
            content = error.response.content
        except TimeoutError:
            failure, timed_out = f"no reply within {self._timeout:g} s", True
        except Exception as error:
            if not _is_transport_error(error):
                raise
            # The client's own says no more than "Connection error."
            cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else None
            failure = f"the connection failed ({one_line(cause or error)})"
        finally:
            self.gate.leave()
        seconds = self._clock.time() - began
        return Outcome(wave, seconds, status, headers, content, failure, timed_out)


def require_client_library() -> None:
    """Say how to install the package ``openai`` where it is not; its import takes a second."""
    if find_spec("openai") is None:
        raise MissingExtraError(
            "agent 'openai' needs the package openai: pip install 'carve-stats[replay]'"
        )


def _is_transport_error(error: Exception) -> bool:
    """Whether the client or the HTTP library under it, which has two names, could not transmit."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"APIConnectionError", "RequestError"})
