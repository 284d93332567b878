"""The initial skill on the selection split: the score that the first candidate has to beat.

INPUT   results/<run>/skills/skill_v0000.md
OUTPUT  results/<run>/eval/val/initial/, steps/step_0000/gate.json

Needs nothing of the training, so it runs beside its first step.
"""


rule evaluate_initial:
    """Evaluate the initial skill of {wildcards.run} on the selection split."""
    input:
        ready="results/{run}/preflight.json",
        skill="results/{run}/skills/skill_v0000.md",
    output:
        rows="results/{run}/eval/val/initial/rollouts.jsonl",
        scores="results/{run}/eval/val/initial/scores.json",
    log:
        "results/{run}/logs/eval/val_initial.log",
    priority: 10
    resources:
        api_calls=width("env.workers"),
    params:
        settings=deciding("evaluate_split"),
        prompts=prompts("evaluate"),
        batch=lambda wildcards: run_of(wildcards.run).split_digest("val"),
    shell:
        "skillopt evaluate --config results/{wildcards.run}/config.json --prompts {params.prompts}"
        " --skill {input.skill:q} --split val --planned {params.batch}"
        " --label val/initial --width {resources.api_calls}"
        " --out {output.rows:q} --scores {output.scores:q} --log {log:q}"


rule gate_initial:
    """Write the state that {wildcards.run} starts from: the initial skill is current and best."""
    input:
        skill="results/{run}/skills/skill_v0000.md",
        rows="results/{run}/eval/val/initial/rollouts.jsonl",
    output:
        "results/{run}/steps/step_0000/gate.json",
    log:
        "results/{run}/logs/step_0000/gate.log",
    priority: 10
    localrule: True
    params:
        settings=deciding("gate"),
    shell:
        "skillopt gate --config results/{wildcards.run}/config.json"
        " --plan results/{wildcards.run}/plan.json --skill {input.skill:q} --rows {input.rows:q}"
        " --out {output:q} --log {log:q}"
