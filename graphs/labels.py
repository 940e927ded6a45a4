"""What the edges are called where the graph is drawn: in Studio and in the README's diagram."""

from collections.abc import Callable, Hashable

from cutegen.graphs.state import Node, State

_GIVING_UP: dict[Node, str] = {
    "select": "given up, back to the best",
    "synthesize": "given up, none yet",
    "finish": "stopped, or all given up",
}
_FAILURE: dict[Node, str] = {"diagnose": "failed", **_GIVING_UP}
_OPTIMIZER: dict[Node, str] = {
    "compile": "proposed",
    "select": "nothing proposed",
    "finish": "stopped",
}

LABELS: dict[Node, dict[Node, str]] = {
    "synthesize": {
        "compile": "written",
        "synthesize": "unusable reply",
        "finish": "stopped, or nothing usable",
    },
    "compile": {"verify": "built", **_FAILURE},
    "verify": {"measure": "verified", **_FAILURE},
    "measure": {
        **_FAILURE,
        "diagnose": "time refused",
        "select": "measured",
    },
    "select": {
        "structural_optimizer": "structure not stable",
        "profile": "structure stable and tuning left",
        "profile_tuner": "no profile wanted",
        "finish": "done",
    },
    "structural_optimizer": _OPTIMIZER,
    "profile": {"profile_tuner": "profiled", "finish": "stopped"},
    "profile_tuner": _OPTIMIZER,
    "diagnose": {"repair": "causes named", **_GIVING_UP},
    "repair": {"compile": "patched", **_FAILURE, "diagnose": "unusable patch"},
}


def labelled(
    node: Node, router: Callable[[State], Node]
) -> tuple[Callable[[State], str], dict[Hashable, str]]:
    """A router that answers with labels, and the nodes that the labels mean."""
    labels = LABELS[node]

    def route(state: State) -> str:
        return labels[router(state)]

    route.__name__ = router.__name__
    return route, {label: target for target, label in labels.items()}
