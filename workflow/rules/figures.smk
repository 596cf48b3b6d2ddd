"""Figures and tables, each with the table behind it."""


rule figure:
    input:
        unpack(get_exhibit_input),
    output:
        pdf="results/figures/{figure}.pdf",
        png=report(
            "results/figures/{figure}.png",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}", "form": "picture"},
        ),
        csv=report(
            "results/figures/{figure}.csv",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}", "form": "numbers"},
        ),
    log:
        "logs/figure/{figure}.log",
    benchmark:
        "results/benchmarks/figure/{figure}.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        inputs=as_options,
        code=code("figure.py", module="maa.figures.{figure}"),
    shell:
        'python "$MAA_SCRIPTS/figure.py"'
        " --figure {wildcards.figure} {params.inputs}"
        " --pdf {output.pdf} --png {output.png} --csv {output.csv} > {log} 2>&1"


rule table:
    input:
        unpack(get_exhibit_input),
    output:
        pdf="results/tables/{table}.pdf",
        png=report(
            "results/tables/{table}.png",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}", "form": "picture"},
        ),
        csv=report(
            "results/tables/{table}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}", "form": "numbers"},
        ),
        html="results/tables/{table}.html",
    log:
        "logs/table/{table}.log",
    benchmark:
        "results/benchmarks/table/{table}.tsv"
    localrule: True
    conda:
        "../../environment.yml"
    params:
        inputs=as_options,
        code=code("table.py", module="maa.figures.{table}"),
    shell:
        'python "$MAA_SCRIPTS/table.py"'
        " --table {wildcards.table} {params.inputs}"
        " --pdf {output.pdf} --png {output.png} --csv {output.csv}"
        " --html {output.html} > {log} 2>&1"
