# The training run as a DAG: every phase of the loop is a rule, every decision a file.
#
#   snakemake --cores 8 results/searchqa/best_skill.md   train a skill
#   snakemake --cores 8                                  ... evaluate it on the test split, write the report
#   snakemake -n results/searchqa/best_skill.md          the training plan, nothing is run
#
# results/<run>/ comes from config/<run>.yaml. The order of the files is in skillopt/runs.py.
from snakemake.utils import min_version

min_version("9.25")


# The image of `Dockerfile`; used only with `--software-deployment-method apptainer`.
container: "docker://skillopt/skillopt:0.1.0"


report: "workflow/report/workflow.rst"


include: "rules/common.smk"
include: "rules/common_evaluation.smk"
include: "rules/data.smk"
include: "rules/setup.smk"
include: "rules/baseline.smk"
include: "rules/step.smk"
include: "rules/epoch.smk"
include: "rules/evaluation.smk"
include: "rules/results.smk"


rule all:
    default_target: True
    input:
        expand("results/{run}/summary.json", run=requested_runs()),
        expand("results/{run}/report.html", run=requested_runs()),


onsuccess:
    print_tables()
    end_timers()
