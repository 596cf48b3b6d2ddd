"""Attention rows of pretrained models on texts: what they hold, and what follows."""

CELL = "{text}/{model}"


rule corpus:
    input:
        unpack(get_corpus_input),
    output:
        "data/prepared/rows/{text}/corpus.json",
    log:
        "logs/corpus/{text}.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        where=get_corpus_options,
        held=lambda wildcards: config["domains"]["rows"]["held_fraction"],
        code=code("corpus.py"),
    shell:
        'python "$MAA_SCRIPTS/corpus.py" {params.where}'
        " --held {params.held} --output {output} > {log} 2>&1"


rule place:
    input:
        source="data/raw/rows/{model}/source.json",
        files=ancient("data/raw/rows/{model}/files"),
    output:
        place="data/prepared/rows/{model}/place.json",
        files=directory("data/prepared/rows/{model}/files"),
    log:
        "logs/place/{model}.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code("place.py"),
    shell:
        'python "$MAA_SCRIPTS/place.py" --source {input.source}'
        " --files {output.files} --output {output.place} > {log} 2>&1"


rule audit:
    """Every measure of every head's rows."""
    input:
        unpack(get_reading),
    output:
        f"results/audits/{CELL}/measured.parquet",
    log:
        f"logs/audit/{CELL}.log",
    benchmark:
        f"results/benchmarks/audit/{CELL}.tsv"
    conda:
        "../../environment.yml"
    threads: 2
    params:
        settings=audit_settings("measure"),
        code=code("audit.py"),
    shell:
        'python "$MAA_SCRIPTS/audit.py" --place {input.place} --corpus {input.corpus}'
        " --settings {params.settings:q} --threads {threads}"
        " --output {output} > {log} 2>&1"


rule prune:
    """Take out heads by each criterion, and see what that costs."""
    input:
        unpack(get_reading),
        measured=rules.audit.output,
    output:
        f"results/audits/{CELL}/pruning.parquet",
    log:
        f"logs/prune/{CELL}.log",
    benchmark:
        f"results/benchmarks/prune/{CELL}.tsv"
    conda:
        "../../environment.yml"
    threads: 2
    params:
        settings=audit_settings("pruning"),
        code=code("prune.py"),
    shell:
        'python "$MAA_SCRIPTS/prune.py" --place {input.place} --corpus {input.corpus}'
        " --measured {input.measured} --settings {params.settings:q}"
        " --threads {threads} --output {output} > {log} 2>&1"


rule switch:
    """Another norm in a trained model, without and with a short training."""
    input:
        unpack(get_reading),
    output:
        f"results/audits/{CELL}/switching.parquet",
    log:
        f"logs/switch/{CELL}.log",
    benchmark:
        f"results/benchmarks/switch/{CELL}.tsv"
    conda:
        "../../environment.yml"
    threads: 2
    params:
        settings=audit_settings("switching"),
        code=code("switch.py"),
    shell:
        'python "$MAA_SCRIPTS/switch.py" --place {input.place} --corpus {input.corpus}'
        " --settings {params.settings:q} --threads {threads}"
        " --output {output} > {log} 2>&1"
