"""When a skill is too long (`env.max_skill_chars`)."""


def too_long(before: int, after: int, max_chars: int) -> str:
    """Say, with both sizes in characters, that a candidate is over `max_chars`; "" when it is not.

    `before` is the size of the current skill; 0 as `max_chars` sets no limit.
    """
    if not max_chars or after <= max_chars:
        return ""
    return (
        f"the candidate has {after} characters, expected at most {max_chars} (env.max_skill_chars); "
        f"the current skill has {before}"
    )
