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
        every=lambda wildcards: config["domains"]["rows"]["hold_out_every"],
        code=code("corpus.py"),
    shell:
        'python "$MAA_SCRIPTS/corpus.py" {params.where}'
        " --every {params.every} --output {output} > {log} 2>&1"


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
        settings=audit_settings("measure", "sinks"),
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
        settings=audit_settings("pruning", "seed"),
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
        settings=audit_settings("switching", "seed"),
        code=code("switch.py"),
    shell:
        'python "$MAA_SCRIPTS/switch.py" --place {input.place} --corpus {input.corpus}'
        " --settings {params.settings:q} --threads {threads}"
        " --output {output} > {log} 2>&1"


rule curve:
    """How often verdicts flip among rows that no model made: before any is run."""
    output:
        "results/audits/model-free.json",
    log:
        "logs/curve.log",
    benchmark:
        "results/benchmarks/curve.tsv"
    conda:
        "../../environment.yml"
    params:
        settings=get_curve_settings,
        code=code("curve.py"),
    shell:
        'python "$MAA_SCRIPTS/curve.py" --settings {params.settings:q}'
        " --output {output} > {log} 2>&1"


rule flips:
    """How often the convention decides which of two heads is closer to a third."""
    input:
        unpack(get_reading),
    output:
        f"results/audits/{CELL}/flips.parquet",
    log:
        f"logs/flips/{CELL}.log",
    benchmark:
        f"results/benchmarks/flips/{CELL}.tsv"
    conda:
        "../../environment.yml"
    threads: 2
    params:
        settings=audit_settings("flips", "sinks", "seed"),
        code=code("flips.py"),
    shell:
        'python "$MAA_SCRIPTS/flips.py" --place {input.place} --corpus {input.corpus}'
        " --settings {params.settings:q} --threads {threads}"
        " --output {output} > {log} 2>&1"


rule predict:
    """Where a convention is safe, foretold and then compared with what is seen."""
    input:
        curve=rules.curve.output,
        flips=get_audits("flips"),
    output:
        scores="results/audits/regimes.parquet",
        predictors="results/audits/predictors.json",
    log:
        "logs/predict.log",
    benchmark:
        "results/benchmarks/predict.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        seed=get_audit_seed,
        code=code("predict.py"),
    shell:
        'python "$MAA_SCRIPTS/predict.py" --curve {input.curve} --flips {input.flips}'
        " --seed {params.seed} --predictors {output.predictors}"
        " --output {output.scores} > {log} 2>&1"


rule cluster_heads:
    """Heads grouped by how alike their rows are, with and without the sink."""
    input:
        unpack(get_reading),
    output:
        heads=f"results/audits/{CELL}/clusters_heads.parquet",
        layouts=f"results/audits/{CELL}/clusters_layouts.parquet",
        compared=f"results/audits/{CELL}/clusters_compared.parquet",
        explained=f"results/audits/{CELL}/clusters_explained.parquet",
    log:
        f"logs/cluster_heads/{CELL}.log",
    benchmark:
        f"results/benchmarks/cluster_heads/{CELL}.tsv"
    conda:
        "../../environment.yml"
    threads: 2
    params:
        settings=audit_settings("clusters", "sinks", "seed"),
        code=code("clusters.py"),
    shell:
        'python "$MAA_SCRIPTS/clusters.py" --place {input.place}'
        " --corpus {input.corpus} --settings {params.settings:q} --threads {threads}"
        " --layouts {output.layouts} --compared {output.compared}"
        " --explained {output.explained} --output {output.heads} > {log} 2>&1"


rule pretrain:
    """A small transformer of our own, with checkpoints on the way."""
    input:
        corpus=get_course_text,
    output:
        place="data/trained/{course}/place.json",
        files=directory("data/trained/{course}/files"),
    log:
        "logs/pretrain/{course}.log",
    benchmark:
        "results/benchmarks/pretrain/{course}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        store=get_training_store,
        settings=get_training_settings,
        code=code("pretrain.py"),
    shell:
        'python "$MAA_SCRIPTS/pretrain.py" --corpus {input.corpus}'
        " --settings {params.settings:q} --threads {threads} --store {params.store}"
        " --files {output.files} --output {output.place} > {log} 2>&1"


rule checkpoints:
    output:
        "data/checkpoints/{course}/place.json",
    log:
        "logs/checkpoints/{course}.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        where=get_checkpoints,
        code=code("checkpoints.py"),
    shell:
        'python "$MAA_SCRIPTS/checkpoints.py" {params.where}'
        " --output {output} > {log} 2>&1"


rule course:
    """A model's attention in the course of its training."""
    input:
        unpack(get_course),
    output:
        heads="results/audits/{text}/{course}/course_heads.parquet",
        losses="results/audits/{text}/{course}/course_losses.parquet",
        changes="results/audits/{text}/{course}/course_changes.parquet",
        control="results/audits/{text}/{course}/course_control.parquet",
    log:
        "logs/course/{text}/{course}.log",
    benchmark:
        "results/benchmarks/course/{text}/{course}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=get_course_settings,
        code=code("course.py"),
    shell:
        'python "$MAA_SCRIPTS/course.py" --place {input.place}'
        " --corpus {input.corpus} --settings {params.settings:q} --threads {threads}"
        " --losses {output.losses} --changes {output.changes}"
        " --control {output.control} --output {output.heads} > {log} 2>&1"


rule collect_audits:
    input:
        lambda wildcards: get_audits(wildcards.audited),
    output:
        "results/audits/{audited}.parquet",
    log:
        "logs/collect_audits/{audited}.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code("collect_audits.py"),
    shell:
        'python "$MAA_SCRIPTS/collect_audits.py" {input}'
        " --output {output} > {log} 2>&1"


rule audit_facts:
    """The numbers that claims on attention rows are made of."""
    input:
        unpack(get_fact_tables),
        curve=rules.curve.output,
    output:
        "results/audits/facts.parquet",
    log:
        "logs/audit_facts.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        inputs=as_options,
        code=code("audit_facts.py"),
    shell:
        'python "$MAA_SCRIPTS/audit_facts.py" {params.inputs}'
        " --output {output} > {log} 2>&1"
