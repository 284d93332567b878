"""Messages as text: the task of an agent, and the prompt of a program that takes one text."""

from collections.abc import Sequence

from skillopt.models.base import Message

_WHO = {"user": "User", "assistant": "You", "tool": "Result of the tool"}


def task_text(messages: Sequence[Message], images: Sequence[str] = ()) -> str:
    """Return task.md: the instructions, then what was said so far, the common part first.

    `images` are the paths of the images of all messages, in their order.
    """
    parts = ["# Task\n"]
    if system := system_text(messages):
        parts.append(f"## Instructions\n\n{system}\n")
    spoken = [message for message in messages if message.role != "system"]
    left = list(images)
    for message in spoken:
        title = "Request" if len(spoken) == 1 else _WHO[message.role]
        own, left = left[: len(message.images)], left[len(message.images) :]
        parts.append(f"## {title}\n\n{_content(message, own)}\n")
    if len(spoken) > 1:
        parts.append("The last entry is what you have to answer now; what stands under You was your own.\n")
    return "\n".join(parts)


def prompt_text(messages: Sequence[Message], images: Sequence[str] = ()) -> str:
    """Return a dialogue without its system text: one user message as it is, more as a record."""
    spoken = [message for message in messages if message.role != "system"]
    left = list(images)
    parts = []
    for message in spoken:
        own, left = left[: len(message.images)], left[len(message.images) :]
        text = _content(message, own)
        parts.append(text if len(spoken) == 1 else f"<{_tag(message)}>\n{text}\n</{_tag(message)}>")
    if len(spoken) > 1:
        parts.append(
            "Above is the dialogue so far, assistant being you. Answer its last entry; give only your reply."
        )
    return "\n\n".join(parts)


def system_text(messages: Sequence[Message]) -> str:
    """Return the system messages, joined by a blank line."""
    return "\n\n".join(
        message.content for message in messages if message.role == "system" and message.content
    )


def one_text(messages: Sequence[Message], images: Sequence[str] = ()) -> str:
    """Return system text and dialogue as one prompt, for programs that take no system text."""
    parts = (system_text(messages), prompt_text(messages, images))
    return "\n\n---\n\n".join(part for part in parts if part)


def _tag(message: Message) -> str:
    return "tool_result" if message.role == "tool" else message.role


def _content(message: Message, images: Sequence[str]) -> str:
    parts = [message.content] if message.content else []
    parts += [f"(image: {path})" for path in images]
    parts += [
        f"(asked for the tool {call.name} with {call.arguments}, id {call.id})" for call in message.tool_calls
    ]
    if message.tool_call_id:
        parts.insert(0, f"(answers {message.tool_call_id})")
    return "\n\n".join(parts)
