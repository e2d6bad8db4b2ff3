"""The format of stored documents: sealed against damage; older formats are migrated."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import nses
from nses.experiment.runs.encoding import Table, Tensors, count, sha256, table, to_json
from nses.experiment.runs.storage import CheckpointRefused

FORMAT = 2
NEEDS = "0.1.0"  # the oldest nses that reads FORMAT

ZEROS = "0" * 64  # a placeholder for a SHA-256 while it is computed


@dataclass(frozen=True, eq=False)
class Content:
    """A stored state, best policy or archive, in any format."""

    kind: str
    tensors: Tensors
    scalars: Table
    config: Table


class NewerFormat(CheckpointRefused):
    """A newer nses wrote this: continuing from an older checkpoint would fork the run."""


def _one_to_two(content: Content) -> Content:
    """In format 1, a State did not record which member was updated last."""
    if content.kind != "state":
        return content
    return replace(content, scalars=content.scalars | {"updated": None})


MIGRATIONS: dict[int, Callable[[Content], Content]] = {1: _one_to_two}  # to the next format


def sealed(document: Table) -> bytes:
    """JSON with its writer and its own SHA-256; manifests of all formats begin like this."""
    head = {"sha256": ZEROS, "format": FORMAT, "nses": nses.__version__, "needs": NEEDS}
    data = to_json(head | document)
    return data.replace(ZEROS.encode(), sha256(data).encode(), 1)


def unsealed(data: bytes) -> tuple[Table, int]:
    """The document that `sealed` was given, and its format."""
    document = table(data)
    seal = str(document.pop("sha256", "")).encode(errors="replace")
    if sha256(data.replace(seal, ZEROS.encode(), 1)).encode() != seal:
        raise CheckpointRefused("its manifest is damaged: SHA-256 differs")
    written_in, writer, needs = (document.pop(x, None) for x in ("format", "nses", "needs"))
    if count(written_in) > FORMAT:
        raise NewerFormat(
            f"it was written by nses {writer} (format {written_in}) and needs nses ≥ {needs}; "
            f"this is nses {nses.__version__}: install a newer one"
        )
    return document, count(written_in)


def migrated(content: Content, written_in: int) -> Content:
    for older in range(written_in, FORMAT):
        if older not in MIGRATIONS:
            raise CheckpointRefused(f"this nses can no longer read format {written_in}")
        content = MIGRATIONS[older](content)
    return content
