"""The smallest study there is: two runs of one backbone on generated data."""

MINI = {
    "domains": {
        "ctdg": {
            "datasets": ["planted"],
            "backbones": ["craft"],
            "operators": ["p1.00", "p1.10"],
            "seeds": [7],
            "controls": {"cells": [], "operators": []},
            "official": {"datasets": [], "backbones": [], "operators": [], "seeds": []},
            "prepare": {"window": 1500, "history": 8},
            "fit": {"epochs": 1},
            "models": {"craft": {"hidden": 16}},
            "probe": {"trees": 5},
        }
    },
    "inference": {"draws": 500},
}
