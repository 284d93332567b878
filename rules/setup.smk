"""From a configuration file to a planned run.

INPUT   config/<run>.yaml, the data it names, the initial skill
OUTPUT  results/<run>/config.json, plan.json, skills/skill_v0000.md

Both JSON files are `ancient` inputs of the phases: what a phase reads from them is in its params,
so a change that does not concern a phase does not re-run it.
"""


rule config:
    """Write the resolved configuration of {wildcards.run}."""
    output:
        "results/{run}/config.json",
    log:
        "results/{run}/logs/config.log",
    localrule: True
    params:
        resolved=lambda wildcards: run_of(wildcards.run).config,
    shell:
        "skillopt config --resolved {params.resolved:q} --out {output:q} --log {log:q}"


rule plan:
    """Write the plan of {wildcards.run}: steps, batches, edit budgets."""
    input:
        config=ancient("results/{run}/config.json"),
    output:
        "results/{run}/plan.json",
    log:
        "results/{run}/logs/plan.log",
    localrule: True
    params:
        plan=lambda wildcards: run_of(wildcards.run).plan_digest,
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
