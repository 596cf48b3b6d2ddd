"""From a public file to the data that all runs share."""

# A cache may be cleared: what it gave is then to be made again, not an error.
for folder in ("data/raw", "data/prepared"):
    for path in Path(folder).rglob("*"):
        if path.is_symlink() and not path.exists():
            path.unlink()


rule download:
    output:
        source="data/raw/{domain}/{dataset}/source.json",
        files=directory("data/raw/{domain}/{dataset}/files"),
    log:
        "logs/download/{domain}/{dataset}.log",
    benchmark:
        "results/benchmarks/download/{domain}/{dataset}.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        name="{domain}/{dataset}",  # a cache knows parameters, not file names
        store="data/downloads/{domain}/{dataset}",
        entry=entry("sources", "generated", "hub", "revision"),
        code=code("download.py"),
    shell:
        'python "$MAA_SCRIPTS/download.py"'
        " --domain {wildcards.domain} --dataset {wildcards.dataset}"
        " --entry {params.entry:q} --store {params.store}"
        " --files {output.files} --output {output.source} > {log} 2>&1"


rule prepare:
    input:
        source=rules.download.output.source,
        files=ancient(rules.download.output.files),
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
        entry=entry("bipartite", "counts", "starts", "minutes"),
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


# What a cache gives takes no time: Snakemake allows no benchmark of such a rule.
for cached in workflow.workflow_settings.cache or []:
    workflow.get_rule(cached)._benchmark = None
    os.makedirs(os.environ.get("SNAKEMAKE_OUTPUT_CACHE", "."), exist_ok=True)
