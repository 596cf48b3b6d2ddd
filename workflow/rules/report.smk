"""The verdicts."""


rule claims:
    input:
        claims=relative("config", "claims.yaml"),
        schema=relative("workflow", "schemas", "claims.schema.yaml"),
        cells=rules.infer.output.cells,
        aggregate=rules.infer.output.aggregate,
        statistics=rules.infer.output.statistics,
    output:
        table="results/claims.parquet",
        csv=report(
            "results/claims.csv",
            caption="../report/claims.rst",
            category="Claims",
            labels={"claims": "all", "form": "numbers"},
        ),
        page=report(
            "results/claims.html",
            caption="../report/claims.rst",
            category="Claims",
            labels={"claims": "all", "form": "page"},
        ),
    log:
        "logs/claims.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        code=code("claims.py"),
    shell:
        'python "$MAA_SCRIPTS/claims.py"'
        " --claims {input.claims:q} --schema {input.schema:q} --cells {input.cells}"
        " --aggregate {input.aggregate} --statistics {input.statistics}"
        " --parquet {output.table} --csv {output.csv} --html {output.page}"
        " > {log} 2>&1"
