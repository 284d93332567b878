"""How many tokens a call will use, before it is made: from the length of its text, no tokenizer needed."""

from collections.abc import Mapping

from skillopt.files import canonical
from skillopt.models.base import Message, Reply, Request, Role
from skillopt.records import Usage

CHARS_PER_TOKEN = 4
"""Characters of English text per token, the usual rule of thumb; other scripts use more tokens."""
IMAGE_TOKENS = 1000
"""Tokens of an image: what providers bill for about a megapixel."""
ASSUMED_COMPLETION: Mapping[Role, int] = {"target": 300, "optimizer": 1000}
"""Tokens of a reply, as long as none has been seen; models that think at length use more."""


def tokens(chars: int) -> int:
    """Return the tokens of a text of so many characters, rounded up."""
    return -(-chars // CHARS_PER_TOKEN)


def prompt_tokens(request: Request) -> int:
    """Estimate the tokens of everything that is sent."""
    chars = sum(_chars(message) for message in request.messages)
    chars += sum(len(canonical(tool)) for tool in request.tools)
    if request.workspace:
        chars += len(request.workspace.skill)
    images = sum(len(message.images) for message in request.messages)
    return tokens(chars) + images * IMAGE_TOKENS


def _chars(message: Message) -> int:
    return len(message.content) + sum(len(call.name) + len(call.arguments) for call in message.tool_calls)


def estimated_usage(request: Request, reply: Reply) -> Usage:
    """Estimate what a call used whose provider does not tell."""
    said = len(reply.text) + sum(len(call.name) + len(call.arguments) for call in reply.tool_calls)
    return Usage(calls=1, prompt=prompt_tokens(request), completion=tokens(said))
