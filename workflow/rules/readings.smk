"""What the rules of an audit share: which texts and models there are, and settings."""


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


def audit_settings(step):
    """Return a params function: the settings of one step of an audit, as JSON."""

    def get_settings(wildcards):
        study = config["domains"]["rows"]
        chosen = {name: v for name, v in study[step].items() if name != "cells"}
        chosen |= {name: study[name] for name in ("sinks", "seed")}
        return json.dumps(chosen | {"device": config["device"]}, sort_keys=True)

    return get_settings


def get_audits(table):
    """Return an input function: a table of all cells that have it."""
    return [
        f"results/audits/{text}/{model}/{table}.parquet"
        for text, model in AUDITED.get(table, [])
    ]
