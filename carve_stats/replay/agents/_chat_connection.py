"""`ChatConnection`: a client of one event loop, and what becomes of one request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

from carve_stats.errors import MissingExtraError, one_line
from carve_stats.replay.agents._rate_limit import Clock, RequestGate

__all__ = ["ChatConnection", "Outcome", "require_client_library"]

# Of the HTTP library: before any of the request was on its way.
_NOT_SENT = frozenset(("ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError",
                       "UnsupportedProtocol"))  # fmt: skip
_LONGEST_BODY = 64 * 10**6  # bytes, unpacked


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
    sent : bool
        Whether the request may have reached the server.
    """

    wave: int
    seconds: float
    status: int | None = None
    headers: Mapping[str, str] = {}
    content: bytes = b""
    failure: str | None = None
    timed_out: bool = False
    sent: bool = True


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
        # A redirection would take the conversation, and headers of the user's own, to another host.
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key,
            max_retries=0,
            timeout=None,
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
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

    async def post(self, body: Mapping[str, Any], *, patience: float) -> Outcome:
        """Ask for one completion, as soon as the gate lets it pass.

        Parameters
        ----------
        body : mapping
            Of the request.
        patience : float
            Seconds that it may wait for the gate.

        Returns
        -------
        Outcome
            Whatever happened.

        Raises
        ------
        GateClosedError
            The gate stays closed for longer; nothing was sent.
        """
        import openai

        wave = await self.gate.enter(patience)
        began = self._clock.time()
        status: int | None = None
        headers: Mapping[str, str] = {}
        content = b""
        failure = None
        timed_out = False
        sent = True
        others = {name: value for name, value in body.items() if name not in ("model", "messages")}
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._client.chat.completions.with_streaming_response.create(
                    model=body["model"], messages=body["messages"], extra_body=others
                ) as response,
            ):
                status, headers = response.status_code, response.headers
                content = await _whole_body(response)
        except openai.APIStatusError as error:
            status, headers = error.status_code, error.response.headers
            content = error.response.content
        except _TooLongError:
            failure = f"a reply of more than {_LONGEST_BODY // 10**6} MB"
        except TimeoutError:
            failure, timed_out = f"no reply within {self._timeout:g} s", True
        except Exception as error:
            if not _is_transport_error(error):
                raise
            # The client's own says no more than "Connection error."
            cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else None
            failure = f"the connection failed ({one_line(cause or error)})"
            sent = type(cause or error).__name__ not in _NOT_SENT
        finally:
            self.gate.leave()
        seconds = self._clock.time() - began
        return Outcome(wave, seconds, status, headers, content, failure, timed_out, sent)


class _TooLongError(Exception):
    """A body that does not end."""


async def _whole_body(response: Any) -> bytes:
    body = bytearray()
    async for part in response.iter_bytes():
        body += part
        if len(body) > _LONGEST_BODY:
            raise _TooLongError
    return bytes(body)


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
