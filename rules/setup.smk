"""From a configuration file to a planned run.

INPUT   config/<run>.yaml, the data it names, the initial skill
OUTPUT  results/<run>/config.json, plan.json, skills/skill_v0000.md, preflight.json

All three JSON files are `ancient` inputs of the phases and made once: what a phase reads from them is
in its params, so a change that does not concern a phase does not re-run it. Changed settings get into
them before the first job starts.
"""


rule config:
    """Write the resolved configuration of {wildcards.run}."""
    input:
        ancient(lambda wildcards: run_file_of(wildcards.run)),
    output:
        "results/{run}/config.json",
    log:
        "results/{run}/logs/config.log",
    localrule: True
    resources:
        overrides=lambda wildcards: shlex.join(OVERRIDES),  # no param: see refresh_records
    shell:
        "skillopt config --run-file {input:q} --set {resources.overrides} --out {output:q} --log {log:q}"


rule plan:
    """Write the plan of {wildcards.run}: steps, batches, edit budgets."""
    input:
        config=ancient("results/{run}/config.json"),
    output:
        "results/{run}/plan.json",
    log:
        "results/{run}/logs/plan.log",
    localrule: True
    shell:
        "skillopt plan --config {input.config:q} --out {output:q} --log {log:q}"


rule initial_skill:
    """Write the skill that {wildcards.run} starts from."""
    input:
        config=ancient("results/{run}/config.json"),
        skill=initial_skill_file,
    output:
        "results/{run}/skills/skill_v0000.md",
    log:
        "results/{run}/logs/initial_skill.log",
    localrule: True
    shell:
        "skillopt initial_skill --config {input.config:q} --out {output:q} --log {log:q}"


rule preflight:
    """Make one tiny call to each model of {wildcards.run} that never answered."""
    input:
        config=ancient("results/{run}/config.json"),
    output:
        "results/{run}/preflight.json",
    log:
        "results/{run}/logs/preflight.log",
    priority: 20
    localrule: True
    resources:
        api_calls=2,
    shell:
        "skillopt preflight --config {input.config:q} --label start --width {resources.api_calls}"
        " --out {output:q} --log {log:q}"
