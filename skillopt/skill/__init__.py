"""The skill document: its text, its protected regions, and bounded edits of its body."""

from skillopt.skill.document import (
    SkillDocument,
    read_document,
    replace_body,
    sha256,
    visible,
    with_slow_update,
)
from skillopt.skill.edits import apply_edits
from skillopt.skill.notes import appendix_notes, merge_notes, with_appendix

__all__ = [
    "SkillDocument",
    "appendix_notes",
    "apply_edits",
    "merge_notes",
    "read_document",
    "replace_body",
    "sha256",
    "visible",
    "with_appendix",
    "with_slow_update",
]
