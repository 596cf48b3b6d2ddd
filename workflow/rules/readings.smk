"""What the rules of an audit share: which texts and models there are, and settings."""

# Tables that are drawn and that no claim is made of.
UNUSED = ("clusters_heads", "course_heads", "course_losses")


def own_entries(study):
    """Return registry entries of the texts and models that a configuration brings."""
    found = {name: {"kind": "text", "file": p} for name, p in study["texts"].items()}
    for name, place in study["models"].items():
        found[name] = {"kind": "model", "hub": place["location"]}
        if place["revision"] is not None:
            found[name]["revision"] = place["revision"]
    return found


def check_audits(study, known):
    """Check the names of texts and models; add those that the study brings itself."""
    for name, entry in own_entries(study).items():
        if known.setdefault(name, entry) != entry:
            raise UserError(
                f"domains.rows: {name} is the name of an entry of config/datasets.yaml;"
                " give your own text or model another"
            )
    cells = [cell for rule in ("pruning", "switching") for cell in study[rule]["cells"]]
    for axis, kind in (("dataset", "text"), ("backbone", "model")):
        asked = [*study[f"{axis}s"], *(cell[axis] for cell in cells)]
        for name in asked:
            there = [key for key, entry in known.items() if entry["kind"] == kind]
            if name not in there:
                raise UserError(
                    f"domains.rows: there is no {kind} {name!r}; known: "
                    f"{', '.join(sorted(there))}; name your own under "
                    f"domains.rows.{kind}s"
                )


def get_corpus_input(wildcards):
    """Return the download of a text, or the file of a user."""
    entry = REGISTRY["rows"][wildcards.text]
    if "file" in entry:
        return {"file": entry["file"]}
    return {"source": f"data/raw/rows/{wildcards.text}/source.json"}


def get_corpus_options(wildcards, input):
    """Return how the script that reads a text is told which."""
    if "file" in input.keys():
        return f"--file {shlex.quote(input.file)}"
    counts = {"counts": REGISTRY["rows"][wildcards.text]["counts"]}
    return f"--source {input.source} --entry {shlex.quote(json.dumps(counts))}"


def get_reading(wildcards):
    """Return a model's place and a text."""
    return {
        "place": f"data/prepared/rows/{wildcards.model}/place.json",
        "corpus": f"data/prepared/rows/{wildcards.text}/corpus.json",
    }


def audit_settings(step, *shared):
    """Return a params function: the settings of one step of an audit, as JSON.

    ``shared`` are those of all steps that this one uses: ``sinks``, ``seed``.
    """

    def get_settings(wildcards):
        study = config["domains"]["rows"]
        chosen = {name: v for name, v in study[step].items() if name != "cells"}
        chosen |= {name: study[name] for name in shared}
        return json.dumps(chosen | {"device": config["device"]}, sort_keys=True)

    return get_settings


def get_audits(table):
    """Return an input function: a table of all cells that have it."""
    return [
        f"results/audits/{text}/{model}/{table}.parquet"
        for text, model in AUDITED.get(table, [])
    ]


def get_records():
    """Yield each text and model that was fetched, and what was prepared of it."""
    texts = {cell[0] for cells in AUDITED.values() for cell in cells}
    for name in sorted(texts):
        if "file" not in REGISTRY["rows"][name]:
            yield name, f"data/prepared/rows/{name}/corpus.json"
    for name in config["domains"]["rows"]["backbones"]:
        yield name, f"data/prepared/rows/{name}/place.json"


def get_curve_settings(wildcards):
    """Return the grid of the curve and the rule of the predictors, as JSON."""
    return json.dumps(config["domains"]["rows"]["curve"], sort_keys=True)


def get_audit_seed(wildcards):
    """Return the seed of an audit's draws."""
    return config["domains"]["rows"]["seed"]


def get_course_text(wildcards):
    """Return the text that a model of our own is trained on."""
    text = config["domains"]["rows"]["courses"][wildcards.course]["text"]
    return f"data/prepared/rows/{text}/corpus.json"


def get_training_settings(wildcards):
    """Return how a model of our own is trained, as JSON."""
    course = config["domains"]["rows"]["courses"][wildcards.course]
    return json.dumps(course["training"], sort_keys=True)


def get_training_store(wildcards):
    """Return where a model is trained: another folder for another training."""
    of = get_course_text(wildcards) + get_training_settings(wildcards)
    return f"data/training/{wildcards.course}-{zlib.crc32(of.encode()):08x}"


def get_checkpoints(wildcards):
    """Return where checkpoints lie that were trained elsewhere, as options."""
    course = config["domains"]["rows"]["courses"][wildcards.course]
    steps = " ".join(str(step) for step in course["steps"])
    return f"--location {shlex.quote(course['location'])} --steps {steps}"


def get_course(wildcards):
    """Return where a model's checkpoints lie, and the text that they are measured on."""
    course = config["domains"]["rows"]["courses"][wildcards.course]
    trained = "trained" if "training" in course else "checkpoints"
    return {
        "place": f"data/{trained}/{wildcards.course}/place.json",
        "corpus": f"data/prepared/rows/{wildcards.text}/corpus.json",
    }


def get_course_settings(wildcards):
    """Return on what checkpoints are measured, as JSON."""
    course = config["domains"]["rows"]["courses"][wildcards.course]
    chosen = {name: course[name] for name in ("passages", "tokens", "first_row")}
    return json.dumps(chosen | {"device": config["device"]}, sort_keys=True)


def get_fact_tables(wildcards):
    """Return the tables of an audit that claims are made of."""
    used = [table for table in AUDITED if table not in UNUSED]
    found = {table: f"results/audits/{table}.parquet" for table in used}
    return found | {"regimes": "results/audits/regimes.parquet"}
