"""One step: rollout, reflect, aggregate, select, update, evaluate, gate.

INPUT   the skill and the gate record that the step starts from
OUTPUT  results/<run>/steps/step_NNNN/, skills/skill_vNNNN.md

A step always writes all its files: where nothing is proposed or changed, the later phases pass the
skill through without a call, and the gate record says which kind of skip it was.
"""


rule rollout:
    """Do the batch of step {wildcards.step} with the current skill."""
    input:
        ready="results/{run}/preflight.json",
        skill=step_input("skill_before"),
    output:
        "results/{run}/steps/step_{step}/rollouts.jsonl",
    log:
        "results/{run}/logs/step_{step}/rollout.log",
    priority: 10
    resources:
        api_calls=width("env.workers"),
    params:
        settings=deciding("rollout"),
        prompts=prompts("rollout"),
        batch=lambda wildcards: run_of(wildcards.run).batch_digest(int(wildcards.step)),
    shell:
        "skillopt rollout --config results/{wildcards.run}/config.json --prompts {params.prompts}"
        " --plan results/{wildcards.run}/plan.json --skill {input.skill:q}"
        " --planned {params.batch} --step {wildcards.step} --label {wildcards.step}"
        " --width {resources.api_calls} --out {output:q} --log {log:q}"


rule reflect:
    """Propose changes from the trajectories of step {wildcards.step}."""
    input:
        rollouts="results/{run}/steps/step_{step}/rollouts.jsonl",
        skill=step_input("skill_before"),
        state=step_input("memory_within_epoch"),
        meta_skill=step_input("memory_across_epochs"),
    output:
        "results/{run}/steps/step_{step}/reflections.json",
    log:
        "results/{run}/logs/step_{step}/reflect.log",
    priority: 10
    localrule: True
    resources:
        api_calls=width("gradient.analyst_workers"),
    params:
        settings=deciding("reflect"),
        prompts=prompts("reflect"),
    shell:
        "skillopt reflect --config results/{wildcards.run}/config.json --prompts {params.prompts}"
        " --plan results/{wildcards.run}/plan.json --skill {input.skill:q}"
        " --rollouts {input.rollouts:q} --state {input.state:q} --meta-skill {input.meta_skill:q}"
        " --step {wildcards.step} --label {wildcards.step}"
        " --width {resources.api_calls} --out {output:q} --log {log:q}"


rule aggregate:
    """Merge the changes proposed in step {wildcards.step}."""
    input:
        reflections="results/{run}/steps/step_{step}/reflections.json",
        skill=step_input("skill_before"),
        meta_skill=step_input("memory_across_epochs"),
    output:
        "results/{run}/steps/step_{step}/merged.json",
    log:
        "results/{run}/logs/step_{step}/aggregate.log",
    priority: 10
    localrule: True
    resources:
        api_calls=width("gradient.analyst_workers"),
    params:
        settings=deciding("aggregate"),
        prompts=prompts("aggregate"),
    shell:
        "skillopt aggregate --config results/{wildcards.run}/config.json --prompts {params.prompts}"
        " --reflections {input.reflections:q}"
        " --skill {input.skill:q} --meta-skill {input.meta_skill:q} --label {wildcards.step}"
        " --width {resources.api_calls} --out {output:q} --log {log:q}"


rule select:
    """Cut the changes of step {wildcards.step} to its edit budget."""
    input:
        merged="results/{run}/steps/step_{step}/merged.json",
        rollouts="results/{run}/steps/step_{step}/rollouts.jsonl",
        skill=step_input("skill_before"),
        state=step_input("memory_within_epoch"),
        meta_skill=step_input("memory_across_epochs"),
    output:
        "results/{run}/steps/step_{step}/patch.json",
    log:
        "results/{run}/logs/step_{step}/select.log",
    priority: 10
    localrule: True
    resources:
        api_calls=1,
    params:
        settings=deciding("select"),
        prompts=prompts("select"),
        budget=lambda wildcards: run_of(wildcards.run).edit_budget(int(wildcards.step)),
    shell:
        "skillopt select --config results/{wildcards.run}/config.json --prompts {params.prompts}"
        " --merged {input.merged:q} --skill {input.skill:q}"
        " --rollouts {input.rollouts:q} --state {input.state:q} --meta-skill {input.meta_skill:q}"
        " --budget {params.budget} --step {wildcards.step} --label {wildcards.step}"
        " --width {resources.api_calls} --out {output:q} --log {log:q}"


rule update:
    """Apply the selected changes of step {wildcards.step}: the candidate."""
    input:
        patch="results/{run}/steps/step_{step}/patch.json",
        reflections="results/{run}/steps/step_{step}/reflections.json",
        skill=step_input("skill_before"),
        state=step_input("memory_within_epoch"),
    output:
        candidate="results/{run}/steps/step_{step}/candidate.md",
        record="results/{run}/steps/step_{step}/update.json",
    log:
        "results/{run}/logs/step_{step}/update.log",
    priority: 10
    localrule: True
    resources:
        api_calls=1,
    params:
        settings=deciding("update"),
        prompts=prompts("update"),
    shell:
        "skillopt update --config results/{wildcards.run}/config.json --prompts {params.prompts}"
        " --patch {input.patch:q} --skill {input.skill:q}"
        " --reflections {input.reflections:q} --state {input.state:q} --step {wildcards.step}"
        " --label {wildcards.step} --width {resources.api_calls}"
        " --candidate {output.candidate:q} --out {output.record:q} --log {log:q}"


rule evaluate:
    """Evaluate the candidate of step {wildcards.step} on the selection split."""
    input:
        candidate="results/{run}/steps/step_{step}/candidate.md",
        update_record="results/{run}/steps/step_{step}/update.json",
        state=step_input("state_before"),
    output:
        "results/{run}/steps/step_{step}/selection.jsonl",
    log:
        "results/{run}/logs/step_{step}/evaluate.log",
    priority: 10
    resources:
        api_calls=width("env.workers"),
    params:
        settings=deciding("evaluate"),
        prompts=prompts("evaluate"),
        batch=lambda wildcards: run_of(wildcards.run).split_digest("val"),
    shell:
        "skillopt evaluate --config results/{wildcards.run}/config.json --prompts {params.prompts}"
        " --skill {input.candidate:q} --split val --planned {params.batch}"
        " --update {input.update_record:q} --state {input.state:q} --label {wildcards.step}"
        " --width {resources.api_calls} --out {output:q} --log {log:q}"


rule gate:
    """Decide whether the candidate of step {wildcards.step} becomes the current skill."""
    input:
        skill=step_input("skill_before"),
        state=step_input("state_before"),
        reflections="results/{run}/steps/step_{step}/reflections.json",
        patch="results/{run}/steps/step_{step}/patch.json",
        update_record="results/{run}/steps/step_{step}/update.json",
        candidate="results/{run}/steps/step_{step}/candidate.md",
        rows="results/{run}/steps/step_{step}/selection.jsonl",
    output:
        gate="results/{run}/steps/step_{step}/gate.json",
        skill="results/{run}/skills/skill_v{step}.md",
    log:
        "results/{run}/logs/step_{step}/gate.log",
    priority: 10
    localrule: True
    params:
        settings=deciding("gate"),
    shell:
        "skillopt gate --config results/{wildcards.run}/config.json"
        " --plan results/{wildcards.run}/plan.json --step {wildcards.step}"
        " --skill {input.skill:q} --state {input.state:q} --reflections {input.reflections:q}"
        " --patch {input.patch:q} --update {input.update_record:q} --candidate {input.candidate:q}"
        " --rows {input.rows:q} --out {output.gate:q} --skill-out {output.skill:q} --log {log:q}"
