"""From the measurements of all runs to tested effects."""


rule collect:
    input:
        probe=get_files(rules.probe.output[0]),
        scores=get_files(rules.behave.output[0]),
    output:
        "results/measurements.parquet",
    log:
        "logs/collect.log",
    benchmark:
        "results/benchmarks/collect.tsv"
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


rule collect_traces:
    input:
        get_traces,
    output:
        "results/traces.parquet",
    log:
        "logs/collect_traces.log",
    benchmark:
        "results/benchmarks/collect_traces.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        sets=get_traced,
        code=code("gather.py"),
    shell:
        'python "$MAA_SCRIPTS/gather.py" --file trace.parquet'
        " --root results/runs --settings {params.sets:q}"
        " --output {output} > {log} 2>&1"


rule collect_curves:
    input:
        get_files(rules.train.output.curve),
    output:
        "results/curves.parquet",
    log:
        "logs/collect_curves.log",
    benchmark:
        "results/benchmarks/collect_curves.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        sets=get_sets,
        code=code("gather.py"),
    shell:
        'python "$MAA_SCRIPTS/gather.py" --file training.parquet'
        " --root results/runs --settings {params.sets:q}"
        " --output {output} > {log} 2>&1"


rule infer:
    """Treatment against baseline on the main grid, and how far that can be trusted."""
    input:
        rules.collect.output,
    output:
        cells="results/inference/cells.parquet",
        aggregate="results/inference/aggregate.parquet",
        statistics="results/inference/statistics.parquet",
        mixed="results/inference/mixed.parquet",
        precision="results/inference/precision.parquet",
    log:
        "logs/infer.log",
    benchmark:
        "results/benchmarks/infer.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        settings=get_plan("core"),
        code=code("infer.py"),
    shell:
        'python "$MAA_SCRIPTS/infer.py"'
        " --measurements {input} --settings {params.settings:q}"
        " --cells {output.cells} --aggregate {output.aggregate}"
        " --statistics {output.statistics} --mixed {output.mixed}"
        " --precision {output.precision} > {log} 2>&1"


rule contrast:
    """Every other operator against the baseline, and what the controls explain."""
    input:
        rules.collect.output,
    output:
        contrasts="results/inference/contrasts.parquet",
        contrast_cells="results/inference/contrast_cells.parquet",
        shares="results/inference/shares.parquet",
    log:
        "logs/contrast.log",
    benchmark:
        "results/benchmarks/contrast.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        settings=get_plan("core", "controls", "official"),
        code=code("contrast.py"),
    shell:
        'python "$MAA_SCRIPTS/contrast.py"'
        " --measurements {input} --settings {params.settings:q}"
        " --contrasts {output.contrasts} --contrast-cells {output.contrast_cells}"
        " --shares {output.shares} > {log} 2>&1"


rule facts:
    """The numbers that a companion paper's claims are made of."""
    input:
        measurements=rules.collect.output,
        traces=rules.collect_traces.output,
    output:
        facts="results/facts/{domain}.parquet",
        gaps="results/facts/{domain}_gaps.parquet",
    log:
        "logs/facts/{domain}.log",
    benchmark:
        "results/benchmarks/facts/{domain}.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code("facts.py", stages=["facts"]),
    shell:
        'python "$MAA_SCRIPTS/facts.py" --domain {wildcards.domain}'
        " --measurements {input.measurements} --traces {input.traces}"
        " --facts {output.facts} --gaps {output.gaps} > {log} 2>&1"


rule select_power:
    """Choose p on the validation part (Algorithm 2)."""
    input:
        rules.collect.output,
    output:
        selection="results/inference/selection.parquet",
        selection_effects="results/inference/selection_effects.parquet",
    log:
        "logs/select_power.log",
    benchmark:
        "results/benchmarks/select_power.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        settings=get_plan("core", selection=True),
        code=code("select_power.py"),
    shell:
        'python "$MAA_SCRIPTS/select_power.py"'
        " --measurements {input} --settings {params.settings:q}"
        " --selection {output.selection}"
        " --selection-effects {output.selection_effects} > {log} 2>&1"


rule collect_supports:
    input:
        get_all_targets,
    output:
        "results/supports.parquet",
    log:
        "logs/collect_supports.log",
    benchmark:
        "results/benchmarks/collect_supports.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code("collect_supports.py"),
    shell:
        'python "$MAA_SCRIPTS/collect_supports.py"'
        " {input} --output {output} > {log} 2>&1"
