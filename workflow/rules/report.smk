"""The verdicts, and all results in one archive."""


rule claims:
    input:
        unpack(get_claim_tables),
        claims=relative("config", "claims.yaml"),
        schema=relative("workflow", "schemas", "claims.schema.yaml"),
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
        tables=get_table_options,
        exhibits=[*FIGURES, *TABLES],
        code=code("claims.py"),
    shell:
        'python "$MAA_SCRIPTS/claims.py"'
        " --claims {input.claims:q} --schema {input.schema:q} {params.tables}"
        " --parquet {output.table} --csv {output.csv} --numbers {output.numbers}"
        " --html {output.page} --exhibits {params.exhibits} > {log} 2>&1"


rule bundle:
    """One archive from which another machine verifies every number."""
    input:
        unpack(get_bundle),
        claims=relative("config", "claims.yaml"),
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
