"""Skills on splits, with or without training: repeats, and skills side by side.

INPUT   results/<run>/eval/<split>/<skill>/rollouts.jsonl, scores.json (rule evaluate_split)
OUTPUT  results/<run>/eval/<split>/<skill>/repeats.jsonl, repeats.json
        results/<run>/eval/<split>/table.{txt,json,csv}, item_scores.csv, comparison.json

A <skill> is none, initial, best, last, or one that `evaluation.skills` or `--config skills='{name: file}'`
names. A skill that has a file needs nothing of the training.
"""


rule repeat:
    """Do {wildcards.evaluation} of {wildcards.run} again with fresh samples."""
    input:
        skill=evaluated_skill,
        rows="results/{run}/eval/{evaluation}/rollouts.jsonl",
        same=repeated_before,
    output:
        rows="results/{run}/eval/{evaluation}/repeats.jsonl",
        scores="results/{run}/eval/{evaluation}/repeats.json",
    log:
        "results/{run}/logs/eval/{evaluation}/repeat.log",
    wildcard_constraints:
        evaluation=rf"(?:train|val|test)/{NAME}",
    resources:
        api_calls=width("env.workers"),
    params:
        settings=deciding("repeat"),
        prompts=prompts("repeat"),
        batch=evaluated_items,
        split=lambda wildcards: wildcards.evaluation.split("/")[0],
    shell:
        "skillopt repeat --config results/{wildcards.run}/config.json --prompts {params.prompts}"
        " --skill {input.skill:q}"
        " --split {params.split} --planned {params.batch} --rows {input.rows:q} --same {input.same:q}"
        " --label {wildcards.evaluation} --width {resources.api_calls}"
        " --out {output.rows:q} --scores {output.scores:q} --log {log:q}"


rule tabulate:
    """Put evaluated skills of {wildcards.run} side by side: {wildcards.split} split."""
    input:
        scores=tabulated("scores.json"),
        rows=tabulated("rollouts.jsonl"),
        repeats=tabulated_repeats,
    output:
        text="results/{run}/eval/{split}/table.txt",
        table="results/{run}/eval/{split}/table.json",
        csv="results/{run}/eval/{split}/table.csv",
        item_csv="results/{run}/eval/{split}/item_scores.csv",
        comparison="results/{run}/eval/{split}/comparison.json",
    log:
        "results/{run}/logs/eval/{split}.log",
    localrule: True
    params:
        settings=deciding("tabulate"),
    shell:
        "skillopt tabulate --config results/{wildcards.run}/config.json --split {wildcards.split}"
        " --scores {input.scores:q} --repeats {input.repeats:q} --table {output.table:q}"
        " --csv {output.csv:q} --text {output.text:q} --item-csv {output.item_csv:q}"
        " --comparison {output.comparison:q} --log {log:q}"
