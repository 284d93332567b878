"""Which skills are evaluated: those of the command or the configuration, their files, what they wait for."""

AD_HOC = config.get("skills") or {}
if problems := problems_of(AD_HOC):
    raise WorkflowError("--config skills: " + "; ".join(problems))


def skills_of(name):
    """Return the skills of a run's tables: those that the command names, else those of its configuration."""
    return AD_HOC or run_of(name).resolved.settings.evaluation.skills


def named_skill(name, skill):
    """Return the file of a skill that has one."""
    known = run_of(name).resolved.settings.evaluation.skills | AD_HOC
    if not known.get(skill):
        raise WorkflowError(
            f"run {name}: skill {skill!r}: expected one of {', '.join(dict.fromkeys([*OWN, *known]))}. Name "
            f"its file in evaluation.skills, or run skillopt eval {name} --skill {skill}=FILE"
        )
    if not Path(known[skill]).is_file():
        raise WorkflowError(
            f"run {name}: skill {skill}: expected a file at {known[skill]}, found none"
        )
    file = os.path.relpath(known[skill])
    if "{" in file or "}" in file:  # the engine would put other text in their place
        raise WorkflowError(
            f"run {name}: skill {skill}: {file}: expected a path without braces; rename or copy the file"
        )
    # A result of a run is taken as it lies there: whether it is up to date is not asked.
    return os.path.abspath(file) if file.startswith(("results/", "..")) else file


def twin_of(name, skill):
    """Return the first of the tabulated skills when its file says the same, so that it is done once."""
    files = {other: path for other, path in skills_of(name).items() if path}
    if skill not in files or not all(Path(path).is_file() for path in files.values()):
        return []
    text = Path(files[skill]).read_bytes()
    first = next(other for other in files if Path(files[other]).read_bytes() == text)
    return [first] if first != skill else []


def same_before(wildcards):
    """Return the evaluations whose rows are taken over when the texts are equal."""
    split, skill = wildcards.evaluation.split("/")
    twins = [f"{split}/{twin}" for twin in twin_of(wildcards.run, skill)]
    return EVALUATED_BEFORE.get(wildcards.evaluation, twins)


def ready_to_evaluate(wildcards):
    """Return the preflight of both models for what belongs to training; others call the target only."""
    own = wildcards.evaluation in ("val/last", "test/initial", *EVALUATED_BEFORE)
    return below(wildcards, "preflight.json" if own else [])


def repeated_before(wildcards):
    """Return the repeats of the skills whose rows are taken over when the texts are equal.

    A command that names skills buys passes of no other one.
    """
    same = [
        f"eval/{name}/repeats.json"
        for name in same_before(wildcards)
        if not AD_HOC or name.rpartition("/")[2] in AD_HOC
    ]
    return below(wildcards, same)


def tabulated(file):
    """Return an input function: a file of each skill of a table."""

    def files(wildcards):
        names = list(skills_of(wildcards.run))
        if not names:
            raise WorkflowError(
                f"run {wildcards.run}: expected skills to tabulate, found none: name them in "
                f"evaluation.skills, or run skillopt eval {wildcards.run} --skill FILE ..."
            )
        folder = f"eval/{wildcards.split}"
        return below(wildcards, [f"{folder}/{name}/{file}" for name in names])

    return files


def tabulated_repeats(wildcards):
    """Return the repeats of each skill of a table; none where each item is done once."""
    repeats = run_of(wildcards.run).repeats
    return tabulated("repeats.json")(wildcards) if repeats else []
