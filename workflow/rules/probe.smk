"""What can be read out of a frozen representation."""


rule probe:
    input:
        representation=rules.represent.output,
        targets=rules.targets.output,
    output:
        f"results/runs/{RUN}/probe.parquet",
    log:
        f"logs/probe/{RUN}.log",
    benchmark:
        f"results/benchmarks/probe/{RUN}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=get_probe_settings,
        code=code("probe.py"),
    shell:
        'python "$MAA_SCRIPTS/probe.py"'
        " --representation {input.representation} --targets {input.targets}"
        " --seed {wildcards.seed} --settings {params.settings:q}"
        " --threads {threads} --output {output} > {log} 2>&1"


rule calibrate_trees:
    """Compare forest settings on validation queries (not a part of `all`)."""
    input:
        representation=rules.represent.output,
        targets=rules.targets.output,
    output:
        f"results/runs/{RUN}/calibration.csv",
    log:
        f"logs/calibrate_trees/{RUN}.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=get_probe_settings,
        code=code("calibrate_trees.py"),
    shell:
        'python "$MAA_SCRIPTS/calibrate_trees.py"'
        " --representation {input.representation} --targets {input.targets}"
        " --seed {wildcards.seed} --settings {params.settings:q}"
        " --threads {threads} --output {output} > {log} 2>&1"
