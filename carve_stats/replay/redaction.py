"""`redact`: takes secrets out of a text that is going to be stored or shown.

Servers repeat the key that they refuse, and clients put addresses with passwords in their errors.
"""

from __future__ import annotations

import os
import re

__all__ = ["REDACTED", "redact"]

REDACTED = "[secret]"
"""What stands in the place of a secret."""

_SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_SHORTEST = 8  # a shorter value of such a variable is a flag or a name, and common in texts
_FORMS = (
    (re.compile(r"(\bBearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1{REDACTED}"),
    # As servers show them, masked: sk-proj-ab***********yz
    (re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf)[-_][\w*.-]{8,}"), REDACTED),
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^/\s@]+@", re.IGNORECASE), rf"\1{REDACTED}@"),
    (re.compile(r"([?&](?:api[-_]?key|key|token|access_token)=)[^&\s\"']+", re.IGNORECASE),
     rf"\1{REDACTED}"),
)  # fmt: skip


def redact(text: str, *secrets: str) -> str:
    """Replace the secrets in a text.

    Parameters
    ----------
    text : str
        For example an error's.
    *secrets : str
        What must not be shown, such as the key that a client uses.

    Returns
    -------
    str
        Without these, without the values of environment variables whose names speak of keys,
        tokens or passwords, and without what has the form of one.

    Examples
    --------
    >>> redact("401: Incorrect API key provided: sk-proj-abcdefgh1234")
    '401: Incorrect API key provided: [secret]'
    """
    known = [value for name, value in os.environ.items() if _SECRET_NAMES.search(name)]
    # The longest first: one may be a part of another.
    for secret in sorted({*known, *secrets}, key=len, reverse=True):
        if (secret in secrets and secret) or len(secret) >= _SHORTEST:
            text = text.replace(secret, REDACTED)
    for form, shown in _FORMS:
        text = form.sub(shown, text)
    return text
