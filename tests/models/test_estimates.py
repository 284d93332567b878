"""What is counted by length where no provider tells."""

import base64

from clients import ask

from skillopt.files import canonical
from skillopt.models.base import Image, Message, Reply, Tool, ToolCall, Workspace
from skillopt.models.estimates import CHARS_PER_TOKEN, IMAGE_TOKENS, estimated_usage, prompt_tokens

CALL = ToolCall(id="1", name="look", arguments="{}")


def test_everything_that_is_sent_counts():
    plain = prompt_tokens(ask("x" * 400))
    assert plain == 400 // CHARS_PER_TOKEN
    tool = Tool(name="look", description="d" * 400, parameters={})
    assert prompt_tokens(ask("x" * 400, tools=(tool,))) == -(-(400 + len(canonical(tool))) // CHARS_PER_TOKEN)
    assert prompt_tokens(ask("x" * 400, workspace=Workspace(skill="s" * 80))) == 480 // CHARS_PER_TOKEN
    image = Image(data=base64.b64encode(b"png").decode(), media_type="image/png")
    shown = Message(role="user", content="x" * 400, images=(image, image))
    assert prompt_tokens(ask("", messages=(shown,))) == plain + 2 * IMAGE_TOKENS
    called = Message(role="assistant", content="", tool_calls=(CALL, CALL))
    assert prompt_tokens(ask("", messages=(called,))) == 12 // CHARS_PER_TOKEN


def test_a_reply_counts_with_the_tools_that_it_calls():
    usage = estimated_usage(ask("x" * 40), Reply(text="y" * 41, tool_calls=(CALL,)))
    assert (usage.calls, usage.prompt, usage.completion) == (
        1,
        40 // CHARS_PER_TOKEN,
        -(-47 // CHARS_PER_TOKEN),
    )
