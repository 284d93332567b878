"""The result of a run, and what happened in it.

INPUT   every gate record, the oldest first (a list that starts at the end would overflow the engine)
OUTPUT  results/<run>/best_skill.md, eval/, history.json, history.csv, summary.json, calls.json,
        report.html, figures/
"""


rule best_skill:
    """Choose the best skill of {wildcards.run}."""
    input:
        gates=run_input("gates"),
        last=run_input("last_skill"),
        last_rows=run_input("last_rows"),
    output:
        skill=in_report("best_skill.md", "best_skill", "Best skill", "text"),
        record="results/{run}/best_skill.json",
    log:
        "results/{run}/logs/best_skill.log",
    priority: 10
    localrule: True
    params:
        settings=deciding("best_skill"),
    shell:
        "skillopt best_skill --config results/{wildcards.run}/config.json"
        " --gates {input.gates:q} --last {input.last:q}"
        " --last-rows {input.last_rows:q} --out {output.skill:q} --record {output.record:q}"
        " --log {log:q}"


rule evaluate_split:
    """Evaluate a skill of {wildcards.run} on a split: {wildcards.evaluation}."""
    input:
        ready=ready_to_evaluate,
        skill=evaluated_skill,
        state=evaluated_state,
        same=evaluated_before,
    output:
        rows="results/{run}/eval/{evaluation}/rollouts.jsonl",
        scores="results/{run}/eval/{evaluation}/scores.json",
    log:
        "results/{run}/logs/eval/{evaluation}.log",
    resources:
        api_calls=width("env.workers"),
    params:
        settings=deciding("evaluate_split"),
        prompts=prompts("evaluate"),
        batch=evaluated_items,
        split=lambda wildcards: wildcards.evaluation.split("/")[0],
    shell:
        "skillopt evaluate --config results/{wildcards.run}/config.json --prompts {params.prompts}"
        " --skill {input.skill:q}"
        " --split {params.split} --planned {params.batch} --state {input.state:q} --same {input.same:q}"
        " --label {wildcards.evaluation} --width {resources.api_calls} --out {output.rows:q}"
        " --scores {output.scores:q} --log {log:q}"


rule history:
    """Write what happened in {wildcards.run}, step by step."""
    input:
        gates=run_input("gates"),
    output:
        json="results/{run}/history.json",
        csv=in_report("history.csv", "history", "Decisions", "data"),
    log:
        "results/{run}/logs/history.log",
    localrule: True
    shell:
        "skillopt history --config results/{wildcards.run}/config.json"
        " --plan results/{wildcards.run}/plan.json --out {output.json:q} --csv {output.csv:q} --log {log:q}"


rule summary:
    """Write the numbers of {wildcards.run}."""
    input:
        history="results/{run}/history.json",
        best="results/{run}/best_skill.md",
        last=run_input("last_skill"),
        gate=run_input("last_gate"),
        tests=run_input("tests"),
    output:
        summary="results/{run}/summary.json",
        calls="results/{run}/calls.json",
    log:
        "results/{run}/logs/summary.log",
    localrule: True
    params:
        basis=lambda wildcards: run_of(wildcards.run).basis,
    shell:
        "skillopt summary --config results/{wildcards.run}/config.json"
        " --last {input.last:q} --gate {input.gate:q}"
        " --out {output.summary:q} --calls {output.calls:q} --log {log:q}"


rule report:
    """Write the report of {wildcards.run}: one page that opens offline, and its figures."""
    input:
        summary="results/{run}/summary.json",
        calls="results/{run}/calls.json",
    output:
        **figures(),
        page=in_report("report.html", "report", "Report"),
    log:
        "results/{run}/logs/report.log",
    localrule: True
    shell:
        "skillopt report results/{wildcards.run} --out {output.page:q} --log {log:q}"
