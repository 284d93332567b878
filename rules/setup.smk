"""From a configuration file to a run that can start.

INPUT   config/<run>.yaml, the data it names, the initial skill
OUTPUT  results/<run>/skills/skill_v0000.md, preflight.json

config.json and plan.json are written when a command starts (`begin_runs`) and are no inputs: what a
phase reads from them is in its params, so a change that does not concern a phase does not re-run it.
"""


rule initial_skill:
    """Write the skill that {wildcards.run} starts from."""
    output:
        "results/{run}/skills/skill_v0000.md",
    log:
        "results/{run}/logs/initial_skill.log",
    localrule: True
    params:
        skill=lambda wildcards: run_of(wildcards.run).initial_skill,
    shell:
        "skillopt initial_skill --config results/{wildcards.run}/config.json"
        " --planned {params.skill} --out {output:q} --log {log:q}"


rule preflight:
    """Make one tiny call to each model of {wildcards.run} that never answered."""
    output:
        "results/{run}/preflight.json",
    log:
        "results/{run}/logs/preflight.log",
    priority: 20
    localrule: True
    resources:
        api_calls=2,
    shell:
        "skillopt preflight --config results/{wildcards.run}/config.json --label start"
        " --width {resources.api_calls} --out {output:q} --log {log:q}"
