"""The short text that sends an agent to its folder."""

from skillopt.models.agents.workspace import ATTACHMENTS_PATH, SKILL_PATH, TASK_PATH

_READ_ONLY = "Do not create, change or delete any file."
_MAY_WRITE = (
    "Where the task asks for files, create them in the current folder, under the names it gives; "
    "leave everything outside this folder alone."
)
_AGAIN = (
    "An earlier run of this task ended without a final message. Read the files again, and make sure that you "
    "end with one."
)


def instruction(*, may_write: bool, attachments: bool, again: bool) -> str:
    """Return what an agent is told; the task itself and the skill are files in its folder."""
    lines = [
        "Do the task that is described in the current folder.",
        f"Before anything else, read `{SKILL_PATH}` (plain guidance, to be opened as a file, not called as a "
        f"skill or tool) and `{TASK_PATH}` (the task).",
        f"`{ATTACHMENTS_PATH}` lists the files that belong to the task: look at them." if attachments else "",
        _MAY_WRITE if may_write else _READ_ONLY,
        "Nobody can answer questions: decide for yourself.",
        "Your last message is all that is read as your answer. It must be the answer alone, in the form that "
        f"`{TASK_PATH}` asks for; keep the tags that it asks for.",
        _AGAIN if again else "",
    ]
    return "\n".join(line for line in lines if line) + "\n"
