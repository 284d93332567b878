"""What the analyst of failures is told, for tests of its parts."""

from pathlib import Path

from skillopt.models.base import Message
from skillopt.prompting import TrajectoryView, render

VIEW = TrajectoryView(id="x", task_type="t", reason="r", turns=1, reference="", trajectory=())


def failure_prompt(folder: Path | None, view: TrajectoryView = VIEW) -> tuple[Message, Message]:
    return render(
        "analyst_failure",
        folder=folder,
        skill="- a rule",
        update_mode="patch",
        skill_aware=False,
        learning_rate=4,
        history=(),
        memory="",
        group=(view,),
    )
