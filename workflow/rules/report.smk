"""The verdicts, and all results in one archive."""


rule claims:
    input:
        claims=relative("config", "claims.yaml"),
        schema=relative("workflow", "schemas", "claims.schema.yaml"),
        cells=rules.infer.output.cells,
        aggregate=rules.infer.output.aggregate,
        statistics=rules.infer.output.statistics,
        contrasts=rules.contrast.output.contrasts,
        contrast_cells=rules.contrast.output.contrast_cells,
        selection=rules.select_power.output.selection,
        support=rules.collect_supports.output,
    output:
        table="results/claims.parquet",
        csv=report(
            "results/claims.csv",
            caption="../report/claims.rst",
            category="Claims",
            labels={"claims": "all", "form": "numbers"},
        ),
        numbers=report(
            "results/numbers.csv",
            caption="../report/claims.rst",
            category="Claims",
            labels={"claims": "every number", "form": "numbers"},
        ),
        page=report(
            "results/claims.html",
            caption="../report/claims.rst",
            category="Claims",
            labels={"claims": "all", "form": "page"},
        ),
    log:
        "logs/claims.log",
    benchmark:
        "results/benchmarks/claims.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        exhibits=[*FIGURES, *TABLES],
        code=code("claims.py"),
    shell:
        'python "$MAA_SCRIPTS/claims.py"'
        " --claims {input.claims:q} --schema {input.schema:q} --cells {input.cells}"
        " --aggregate {input.aggregate} --statistics {input.statistics}"
        " --contrasts {input.contrasts} --contrast-cells {input.contrast_cells}"
        " --selection {input.selection} --support {input.support}"
        " --parquet {output.table} --csv {output.csv} --numbers {output.numbers}"
        " --html {output.page} --exhibits {params.exhibits} > {log} 2>&1"


rule bundle:
    """One archive from which another machine verifies every number."""
    input:
        results=[
            *rules.collect.output,
            *rules.collect_supports.output,
            *rules.collect_curves.output,
            *(rules.collect_traces.output if "trace" in FIGURES else []),
            *rules.infer.output,
            *rules.contrast.output,
            *rules.select_power.output,
            *rules.claims.output,
            *collect(rules.figure.output, figure=FIGURES),
            *collect(rules.table.output, table=TABLES),
        ],
        claims=rules.claims.input.claims,
        sources=get_datasets(rules.download.output.source),
        streams=get_datasets(rules.prepare.output.stream),
    output:
        "results/bundle.zip",
    log:
        "logs/bundle.log",
    benchmark:
        "results/benchmarks/bundle.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        settings=get_bundle_settings,
        code=code("bundle.py"),
    shell:
        'python "$MAA_SCRIPTS/bundle.py"'
        " --results {input.results} --claims {input.claims:q}"
        " --sources {input.sources} --streams {input.streams}"
        " --logs logs/train --settings {params.settings:q}"
        " --provenance results/provenance --output {output} > {log} 2>&1"
