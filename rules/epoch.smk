"""The end of an epoch: sample, compare, slow_update with its own evaluate and gate, meta_skill.

INPUT   the skills at the end of the previous epoch and of this one's steps
OUTPUT  results/<run>/slow_update/epoch_EE/, meta_skill/epoch_EE/meta_skill.json

Epoch 1 only puts an empty protected region into the skill. The sample needs nothing of the epoch, but its
items may be those of a step that starts from the same skill: it waits for the last rollout, so that no call is made
twice, and runs beside what follows. The last epoch has no meta_skill: nobody would read it.
"""


rule sample:
    """Do the epoch sample with the skill that epoch {wildcards.epoch} began with, beside its last step."""
    input:
        skill=compared_skill(0),
        after=epoch_input("last_rollouts"),
    output:
        "results/{run}/slow_update/epoch_{epoch}/sample.jsonl",
    log:
        "results/{run}/logs/epoch_{epoch}/sample.log",
    resources:
        api_calls=sample_width,
    params:
        settings=deciding("sample"),
        prompts=prompts("sample"),
        batch=lambda wildcards: run_of(wildcards.run).sample_digest(
            int(wildcards.epoch)
        ),
    shell:
        "skillopt sample --config results/{wildcards.run}/config.json --prompts {params.prompts}"
        " --plan results/{wildcards.run}/plan.json --epoch {wildcards.epoch} --skill {input.skill:q}"
        " --planned {params.batch}"
        " --label epoch_{wildcards.epoch} --width {resources.api_calls} --out {output:q} --log {log:q}"


rule compare:
    """Do the epoch sample with both skills, epoch {wildcards.epoch}."""
    input:
        sample="results/{run}/slow_update/epoch_{epoch}/sample.jsonl",
        previous=compared_skill(0),
        current=compared_skill(1),
    output:
        previous="results/{run}/slow_update/epoch_{epoch}/previous.jsonl",
        current="results/{run}/slow_update/epoch_{epoch}/current.jsonl",
        pairs="results/{run}/slow_update/epoch_{epoch}/pairs.json",
    log:
        "results/{run}/logs/epoch_{epoch}/compare.log",
    priority: 10
    resources:
        api_calls=width("env.workers"),
    params:
        settings=deciding("compare"),
        prompts=prompts("compare"),
        batch=lambda wildcards: run_of(wildcards.run).comparison_digest(
            int(wildcards.epoch)
        ),
    shell:
        "skillopt compare --config results/{wildcards.run}/config.json --prompts {params.prompts}"
        " --plan results/{wildcards.run}/plan.json --epoch {wildcards.epoch}"
        " --previous-skill {input.previous:q} --skill {input.current:q} --sample {input.sample:q}"
        " --planned {params.batch}"
        " --label epoch_{wildcards.epoch} --width {resources.api_calls}"
        " --previous {output.previous:q} --current {output.current:q} --out {output.pairs:q}"
        " --log {log:q}"


rule slow_update:
    """Write guidance for the target at the end of epoch {wildcards.epoch}."""
    input:
        skill=epoch_input("last_step_skill"),
        previous_skill=epoch_input("skill_before_epoch"),
        pairs=comparison("pairs.json"),
        previous=comparison("previous.jsonl"),
        current=comparison("current.jsonl"),
        gates=epoch_input("step_files", "gate.json"),
        patches=epoch_input("step_files", "patch.json"),
    output:
        candidate="results/{run}/slow_update/epoch_{epoch}/candidate.md",
        record="results/{run}/slow_update/epoch_{epoch}/slow_update.json",
    log:
        "results/{run}/logs/epoch_{epoch}/slow_update.log",
    priority: 10
    localrule: True
    resources:
        api_calls=1,
    params:
        settings=deciding("slow_update"),
        prompts=prompts("slow_update"),
    shell:
        "skillopt slow_update --config results/{wildcards.run}/config.json --prompts {params.prompts}"
        " --epoch {wildcards.epoch}"
        " --skill {input.skill:q} --previous-skill {input.previous_skill:q} --pairs {input.pairs:q}"
        " --previous {input.previous:q} --current {input.current:q} --gates {input.gates:q}"
        " --patches {input.patches:q} --label epoch_{wildcards.epoch}"
        " --width {resources.api_calls} --candidate {output.candidate:q} --out {output.record:q}"
        " --log {log:q}"


rule evaluate_slow_update:
    """Evaluate the guidance of epoch {wildcards.epoch} on the selection split."""
    input:
        candidate="results/{run}/slow_update/epoch_{epoch}/candidate.md",
        slow_update="results/{run}/slow_update/epoch_{epoch}/slow_update.json",
        state=epoch_input("last_step_state"),
    output:
        "results/{run}/slow_update/epoch_{epoch}/selection.jsonl",
    log:
        "results/{run}/logs/epoch_{epoch}/evaluate.log",
    priority: 10
    resources:
        api_calls=width("env.workers"),
    params:
        settings=deciding("evaluate_slow_update"),
        prompts=prompts("evaluate"),
        batch=lambda wildcards: run_of(wildcards.run).split_digest("val"),
    shell:
        "skillopt evaluate --config results/{wildcards.run}/config.json --prompts {params.prompts}"
        " --skill {input.candidate:q} --split val --planned {params.batch}"
        " --slow-update {input.slow_update:q} --state {input.state:q} --label epoch_{wildcards.epoch}"
        " --width {resources.api_calls} --out {output:q} --log {log:q}"


rule gate_slow_update:
    """Decide whether the guidance of epoch {wildcards.epoch} goes into the skill."""
    input:
        skill=epoch_input("last_step_skill"),
        state=epoch_input("last_step_state"),
        slow_update="results/{run}/slow_update/epoch_{epoch}/slow_update.json",
        candidate="results/{run}/slow_update/epoch_{epoch}/candidate.md",
        rows="results/{run}/slow_update/epoch_{epoch}/selection.jsonl",
    output:
        gate="results/{run}/slow_update/epoch_{epoch}/gate.json",
        skill="results/{run}/slow_update/epoch_{epoch}/skill.md",
    log:
        "results/{run}/logs/epoch_{epoch}/gate.log",
    priority: 10
    localrule: True
    params:
        settings=deciding("gate_slow_update"),
    shell:
        "skillopt gate --config results/{wildcards.run}/config.json"
        " --skill {input.skill:q} --state {input.state:q}"
        " --slow-update {input.slow_update:q} --candidate {input.candidate:q} --rows {input.rows:q}"
        " --out {output.gate:q} --skill-out {output.skill:q} --log {log:q}"


rule meta_skill:
    """Write the optimizer's memory at the end of epoch {wildcards.epoch}."""
    input:
        previous_skill=epoch_input("last_skill_before_epoch"),
        skill=epoch_input("last_step_skill"),
        pairs=comparison("pairs.json"),
        previous=comparison("previous.jsonl"),
        current=comparison("current.jsonl"),
        memory=epoch_input("memory_before_epoch"),
    output:
        "results/{run}/meta_skill/epoch_{epoch}/meta_skill.json",
    log:
        "results/{run}/logs/epoch_{epoch}/meta_skill.log",
    priority: 10
    localrule: True
    resources:
        api_calls=1,
    params:
        settings=deciding("meta_skill"),
        prompts=prompts("meta_skill"),
    shell:
        "skillopt meta_skill --config results/{wildcards.run}/config.json --prompts {params.prompts}"
        " --epoch {wildcards.epoch}"
        " --previous-skill {input.previous_skill:q} --skill {input.skill:q} --pairs {input.pairs:q}"
        " --previous {input.previous:q} --current {input.current:q} --meta-skill {input.memory:q}"
        " --label epoch_{wildcards.epoch} --width {resources.api_calls}"
        " --out {output:q} --log {log:q}"
