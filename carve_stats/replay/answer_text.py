"""A reply's characters: what is plain, what is struck out, and what only a machine reads."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["bare_label", "bare_text", "clean", "normalize"]

# NFKC sorts a run of combining marks in the square of its length: long texts go in pieces.
_WHOLE = 5000
_PIECES = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]{1,200}")
_UNSEEN = re.compile(  # and TeX's \( \)
    r"[\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufe0e\ufe0f\ufeff]|\\[()]"
)
_FONTS = re.compile(r"\\(?:text|mathrm|mathbf|textbf|mathsf|mathit)\s?\{([^{}]{0,80})\}")
_TURN_ENDS = re.compile(
    r"<\|(?:im_end|eot_id|endoftext|end_of_text|end|return|eom_id)\|>|</s>|<end_of_turn>|<eos>"
)
_TURN_BEGINS = re.compile(
    r"<\|im_start\|>\s*assistant\b|<\|start_header_id\|>assistant<\|end_header_id\|>"
    r"|<start_of_turn>model\b|<\|(?:im_start|assistant|begin_of_text|start|message)\|>|<s>|<bos>"
)
_BOXES = re.compile(r"<\|(?:begin_of_(?P<opening>box)|end_of_box)\|>")
_TAGS = re.compile(r"</?(?:b|i|u|em|strong|p|span|code|mark|div)\s*>|<br\s*/?>", re.IGNORECASE)
_STRUCK = re.compile(r"~~[^~\n]{1,400}~~|<(del|strike)>[^<\n]{1,400}</\1>", re.IGNORECASE)
_PICTURES = r"\u2190-\u21ff\u2460-\u24ff\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_ENDS = re.compile(rf"[ \t\r\n()\[\]{{}}<>\"'“”‘’«»*_`$「」【】.,:;!。،।，：；！#\-={_PICTURES}]")


def normalize(text: str) -> str:
    """Plain characters: Ｃ is C and ： a colon (NFKC), and TeX's fonts are left out.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        Without characters that cannot be seen.
    """
    if not text.isascii():
        if len(text) <= _WHOLE:
            text = unicodedata.normalize("NFKC", text)
        else:
            text = _PIECES.sub(lambda piece: unicodedata.normalize("NFKC", piece[0]), text)
    return _FONTS.sub(r"\1", _UNSEEN.sub("", text))


def clean(text: str) -> str:
    """The part of a reply that a person would see, once its reasoning is out.

    Parameters
    ----------
    text : str
        A normalized reply.

    Returns
    -------
    str
        Up to the mark that ends the model's turn, since what follows is another's; without marks
        of turns, tags of fonts, and what is struck out.
    """
    text = _BOXES.sub(lambda box: "<answer>" if box["opening"] else "</answer>", text)
    text = _TURN_BEGINS.sub(" ", text)
    start = 0
    for end in _TURN_ENDS.finditer(text):
        if text[start : end.start()].strip():
            text = text[start : end.start()]
            break
        start = end.end()
    else:
        text = text[start:]
    return _TAGS.sub("", _STRUCK.sub(" ", text)).strip()


def bare_label(text: str) -> str:
    """A reply without the marks around it, to see whether it is nothing but a label."""
    bare = re.sub(r"\\(?:text|mathrm|mathbf|textbf)\s*", "", text)
    start, end = 0, len(bare)
    while start < end and _ENDS.match(bare, start):
        start += 1
    while end > start and _ENDS.match(bare, end - 1):
        end -= 1
    return bare[start:end]


def bare_text(text: str) -> str:
    """An option's text as it is compared: without case, article, marks and end stop."""
    # A minus or a bracket may matter.
    bare = normalize(text).strip(" \t\r\n\"'“”‘’*_`.,;!。，；！।")
    words = " ".join(bare.casefold().split())
    return re.sub(r"^(?:a|an|the)\s+(?=\S)", "", words)
