"""One run: train a model, freeze it, read out its representations and behaviour."""

RUN = "{domain}/{dataset}/{backbone}/{operator}/{seed}"


rule train:
    input:
        stream=rules.prepare.output.stream,
    output:
        model=f"results/runs/{RUN}/model.safetensors",
        curve=f"results/runs/{RUN}/training.parquet",
    log:
        f"logs/train/{RUN}.log",
    benchmark:
        f"results/benchmarks/train/{RUN}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=settings("fit", model=True, device=True),
        code=code("train.py", stages=["fit"], backbone=True),
    shell:
        'python "$MAA_SCRIPTS/train.py"'
        " --run {wildcards} --stream {input.stream} --settings {params.settings:q}"
        " --threads {threads} --model {output.model} --curve {output.curve}"
        " > {log} 2>&1"


rule represent:
    input:
        stream=rules.prepare.output.stream,
        model=rules.train.output.model,
    output:
        f"results/runs/{RUN}/representation.safetensors",
    log:
        f"logs/represent/{RUN}.log",
    benchmark:
        f"results/benchmarks/represent/{RUN}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=settings("represent", model=True, device=True),
        code=code("represent.py", stages=["represent"], backbone=True),
    shell:
        'python "$MAA_SCRIPTS/represent.py"'
        " --run {wildcards} --stream {input.stream} --model {input.model}"
        " --settings {params.settings:q} --threads {threads}"
        " --representation {output} > {log} 2>&1"


rule behave:
    input:
        stream=rules.prepare.output.stream,
        model=rules.train.output.model,
    output:
        f"results/runs/{RUN}/scores.parquet",
    log:
        f"logs/behave/{RUN}.log",
    benchmark:
        f"results/benchmarks/behave/{RUN}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=settings("behave", model=True, device=True),
        code=code("behave.py", stages=["behave", "utility"], backbone=True),
    shell:
        'python "$MAA_SCRIPTS/behave.py"'
        " --run {wildcards} --stream {input.stream} --model {input.model}"
        " --settings {params.settings:q} --threads {threads}"
        " --scores {output} > {log} 2>&1"


rule trace:
    input:
        stream=rules.prepare.output.stream,
        targets=rules.targets.output,
        model=rules.train.output.model,
    output:
        f"results/runs/{RUN}/trace.parquet",
    log:
        f"logs/trace/{RUN}.log",
    benchmark:
        f"results/benchmarks/trace/{RUN}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=get_trace_settings,
        code=code("trace.py", stages=["trace"], backbone=True),
    shell:
        'python "$MAA_SCRIPTS/trace.py"'
        " --run {wildcards} --stream {input.stream} --targets {input.targets}"
        " --model {input.model} --settings {params.settings:q} --threads {threads}"
        " --output {output} > {log} 2>&1"
