"""From a public file to the data that all runs share."""


rule download:
    output:
        "data/raw/{domain}/{dataset}/source.json",
    log:
        "logs/download/{domain}/{dataset}.log",
    benchmark:
        "results/benchmarks/download/{domain}/{dataset}.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        entry=entry("sources", "generated"),
        code=code("download.py"),
    shell:
        'python "$MAA_SCRIPTS/download.py"'
        " --domain {wildcards.domain} --dataset {wildcards.dataset}"
        " --entry {params.entry:q} --output {output} > {log} 2>&1"


rule prepare:
    input:
        source=rules.download.output,
    output:
        stream="data/prepared/{domain}/{dataset}/stream.safetensors",
        summary="data/prepared/{domain}/{dataset}/summary.json",
    log:
        "logs/prepare/{domain}/{dataset}.log",
    benchmark:
        "results/benchmarks/prepare/{domain}/{dataset}.tsv"
    conda:
        "../../environment.yml"
    params:
        entry=entry("bipartite", "counts"),
        settings=settings("prepare"),
        code=get_prepare_code,
    shell:
        'python "$MAA_SCRIPTS/prepare.py"'
        " --domain {wildcards.domain} --source {input.source}"
        " --entry {params.entry:q} --settings {params.settings:q}"
        " --stream {output.stream} --summary {output.summary} > {log} 2>&1"


rule targets:
    input:
        stream=rules.prepare.output.stream,
    output:
        "data/prepared/{domain}/{dataset}/targets.parquet",
    log:
        "logs/targets/{domain}/{dataset}.log",
    benchmark:
        "results/benchmarks/targets/{domain}/{dataset}.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code("targets.py", stages=["targets"]),
    shell:
        'python "$MAA_SCRIPTS/targets.py"'
        " --domain {wildcards.domain} --stream {input.stream}"
        " --targets {output} > {log} 2>&1"
