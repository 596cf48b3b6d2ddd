"""From the measurements of all runs to tested effects."""


rule collect:
    input:
        probe=get_files(rules.probe.output[0]),
        scores=get_files(rules.behave.output[0]),
    output:
        "results/measurements.parquet",
    log:
        "logs/collect.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        sets=get_sets,
        code=code("collect.py"),
    shell:
        'python "$MAA_SCRIPTS/collect.py"'
        " --root results/runs --settings {params.sets:q}"
        " --output {output} > {log} 2>&1"


rule infer:
    input:
        rules.collect.output,
    output:
        cells="results/inference/cells.parquet",
        aggregate="results/inference/aggregate.parquet",
        statistics="results/inference/statistics.parquet",
    log:
        "logs/infer.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        settings=get_inference_settings,
        code=code("infer.py"),
    shell:
        'python "$MAA_SCRIPTS/infer.py"'
        " --measurements {input} --settings {params.settings:q}"
        " --cells {output.cells} --aggregate {output.aggregate}"
        " --statistics {output.statistics} > {log} 2>&1"
