"""`ChatAsker`: asks until there is a reply, and decides what each failure means."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from carve_stats.errors import AgentError
from carve_stats.replay.agents._chat_connection import ChatConnection, Outcome
from carve_stats.replay.agents._chat_options import ChatOptions
from carve_stats.replay.agents._chat_replies import (
    Complaint,
    complaint_of,
    read_body,
    read_complaint,
    read_reply,
)
from carve_stats.replay.agents._rate_limit import (
    Clock,
    GateClosedError,
    pause_after,
    read_retry_after,
)
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.redaction import REDACTED, redact
from carve_stats.replay.replies import plain_text

__all__ = ["ChatAsker", "LostReplyError", "LostReplyTimeoutError"]

_log = logging.getLogger(__name__)

_SHOWN = 300  # characters of what a server says
_PASSING = frozenset((408, 409, 425))  # beside 5xx: it may be well in a moment
_MENDS = {
    401: "check the key in {key}",
    403: "check the key in {key}",
    301: "give the address that it redirects to as base_url",
    302: "give the address that it redirects to as base_url",
    307: "give the address that it redirects to as base_url",
    308: "give the address that it redirects to as base_url",
    404: "check model and base_url",
    413: "show fewer or smaller frames",
    429: "add to the account's quota, then resume the run",
}
# llama.cpp takes 32 bits, and of those all ones as "draw a seed"; some servers take 0 for none.
_SEEDS = 2**31 - 1


class LostReplyError(ConnectionError):
    """A reply that did not come, or not whole.

    Attributes
    ----------
    transport : sequence of dict
        The requests that were sent for it, as in `ReplayReply`.
    """

    def __init__(self, message: str, transport: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(message)
        self.transport = transport


class LostReplyTimeoutError(LostReplyError, TimeoutError):
    """A reply that did not come in time."""


class ChatAsker:
    """Asks a server for replies, and remembers which parameters it refuses.

    Parameters
    ----------
    options : ChatOptions
        The agent's.
    clock : Clock
        Time and sleep.
    """

    def __init__(self, options: ChatOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._refused: set[str] = set()

    async def ask(
        self, connection: ChatConnection, messages: list[dict[str, Any]], seed: int
    ) -> ReplayReply:
        """Ask until there is a reply, none can come, or the patience is over.

        Parameters
        ----------
        connection : ChatConnection
            Of the running event loop.
        messages : list of dict
            What is asked.
        seed : int
            The replay's.

        Returns
        -------
        ReplayReply
            With an entry of `transport` for each request.

        Raises
        ------
        LostReplyError
            The reply is lost, or did not come.
        AgentError
            The server refuses the request for good.
        """
        transport: list[dict[str, Any]] = []
        waited = 0.0
        while True:
            body = self._body(messages, seed)
            patience = self._options.patience - waited
            began = self._clock.time()
            try:
                outcome = await connection.post(body, patience=patience)
            except GateClosedError as error:
                raise LostReplyError(
                    f"no request was sent: the server's rate limit goes on for {error.args[0]:.0f}"
                    f" s, and a replay waits {self._options.patience:g} s in all (patience)",
                    transport,
                ) from None
            waited += max(0.0, self._clock.time() - began - outcome.seconds)
            entry: dict[str, Any] = {
                "status": outcome.status, "error": None, "seconds": outcome.seconds, "waited": 0.0,
            }  # fmt: skip
            transport.append(entry)
            status, answered, complaint = self._read(outcome, transport)
            if answered is not None:
                connection.gate.succeed()
                return replace(answered, transport=transport)
            entry["error"] = self._shown(complaint.message)
            if status in (400, 422) and self._adapt(body, complaint):
                continue
            if complaint.code == "content_filter":
                return ReplayReply(text="", finish_reason="content_filter", transport=transport)
            retry_after = read_retry_after(outcome.headers, now=time.time())
            limited = status == 429 or (status == 503 and retry_after is not None)
            if complaint.code == "insufficient_quota" or not (
                limited or status is None or status >= 500 or status in _PASSING
            ):
                self._stop(status, complaint)
            wanted = pause_after(len(transport), retry_after)
            if limited:
                connection.gate.limit(outcome.wave, wanted, str(status))
            else:
                connection.gate.tell_pause(wanted, self._shown(_told(status, complaint)))
            left = self._options.patience - waited
            # A server that names a longer time is not waited for at all.
            pause = 0.0 if limited and retry_after is not None and wanted > left else left
            pause = min(wanted, pause)
            if pause > 0:
                await self._clock.sleep(pause)
                entry["waited"] = pause
                waited += pause
            if pause < wanted:
                requests = "1 request" if len(transport) == 1 else f"{len(transport)} requests"
                raise LostReplyError(
                    f"no reply in {requests} and {waited:g} s of waiting, the last with"
                    f" {self._shown(_told(status, complaint))}",
                    transport,
                )

    def _body(self, messages: list[dict[str, Any]], seed: int) -> dict[str, Any]:
        options = self._options
        body = {**options.extra, "model": options.model, "messages": messages}
        if options.temperature is not None:
            body["temperature"] = options.temperature
        if options.max_tokens is not None:
            newer = "max_tokens" in self._refused
            body["max_completion_tokens" if newer else "max_tokens"] = options.max_tokens
        if "seed" not in self._refused:
            body["seed"] = 1 + seed % _SEEDS
        return body

    def _read(
        self, outcome: Outcome, transport: list[dict[str, Any]]
    ) -> tuple[int | None, ReplayReply | None, Complaint]:
        """The status that counts, and a reply or a complaint."""
        status = outcome.status
        if outcome.failure is not None:
            if outcome.sent:  # it may have been answered, and paid
                self._lose(outcome.failure, transport, timed_out=outcome.timed_out)
            return None, None, Complaint(outcome.failure)
        if status is not None and not 200 <= status < 300:
            return status, None, read_complaint(outcome.content)
        try:
            data = read_body(outcome.content)
            if data.get("error") and not data.get("choices"):
                # Gateways say so with status 200.
                complaint = complaint_of(data)
                code = int(complaint.code) if complaint.code.isdecimal() else 0
                return (code if 400 <= code < 600 else 500), None, complaint
            reply = read_reply(data, outcome.headers)
        except ValueError as error:
            self._lose(str(error), transport)
        # A gateway may show what it was sent, in any place.
        reply = replace(
            reply,
            text=self._without_secrets(reply.text),
            model=reply.model and self._without_secrets(reply.model),
            finish_reason=reply.finish_reason and self._without_secrets(reply.finish_reason),
            usage={self._without_secrets(name): n for name, n in reply.usage.items()},
        )
        if isinstance(data.get("system_fingerprint"), str):
            shown = self._without_secrets(data["system_fingerprint"])
            transport[-1]["system_fingerprint"] = shown
        if "seed" in self._refused:
            reply = replace(reply, usage={**reply.usage, "seed_refused": 1})
        return status, reply, Complaint("")

    def _adapt(self, body: Mapping[str, Any], complaint: Complaint) -> bool:
        """Whether the request can be sent again without what the server refuses."""
        if "max_tokens" in body and "max_completion_tokens" in complaint.message:
            self._refuse("max_tokens", "max_completion_tokens is sent in its place")
            return True
        named = "seed" in complaint.parameters or re.search(r"\bseed\b", complaint.message)
        if "seed" in body and named:
            self._refuse(
                "seed",
                "replays are sent without, and are as independent as the server makes them",
            )
            return True
        return False

    def _refuse(self, parameter: str, consequence: str) -> None:
        if parameter not in self._refused:
            self._refused.add(parameter)
            _log.warning("the server refuses the parameter %s: %s", parameter, consequence)

    def _lose(
        self, failure: str, transport: list[dict[str, Any]], *, timed_out: bool = False
    ) -> NoReturn:
        transport[-1]["error"] = self._shown(failure)
        kind = LostReplyTimeoutError if timed_out else LostReplyError
        raise kind(transport[-1]["error"], transport)

    def _stop(self, status: int | None, complaint: Complaint) -> NoReturn:
        options = self._options
        mend = _MENDS.get(status or 0, "change the agent's options or the conversation")
        raise AgentError(
            f"{options.base_url} refuses model {options.model!r} with status {status}"
            f" ({self._shown(complaint.message) or 'it says no more'}):"
            f" {mend.format(key=options.api_key_env)}"
        )

    def _without_secrets(self, text: str) -> str:
        """What a model says may look like a secret and be none: only our own go."""
        for secret in self._options.secrets():
            text = text.replace(secret, REDACTED)
        return text

    def _shown(self, text: str) -> str:
        text = plain_text(redact(text, *self._options.secrets()))
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _told(status: int | None, complaint: Complaint) -> str:
    return complaint.message if status is None else f"{status}: {complaint.message}"
