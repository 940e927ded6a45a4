"""The kernel class of a reference, from the operations it does and never from its name."""

from collections.abc import Iterable

import torch

from cutegen.spec import KernelClass, TracedOp

_CONTRACTIONS = frozenset(
    """
    mm bmm matmul linear addmm addmv addr addbmm baddbmm mv dot vdot inner outer einsum
    tensordot linalg_matmul linalg_vecdot
    """.split()  # noqa: SIM905 - one word a line would fill a page
)
_REDUCTIONS = frozenset(
    """
    sum nansum mean nanmean amax amin aminmax max min argmax argmin prod norm linalg_vector_norm
    linalg_norm std var std_mean var_mean logsumexp all any count_nonzero softmax _softmax
    _safe_softmax log_softmax _log_softmax layer_norm native_layer_norm group_norm
    native_group_norm rms_norm _fused_rms_norm batch_norm native_batch_norm
    _native_batch_norm_legit_functional _native_batch_norm_legit_no_training instance_norm
    mse_loss l1_loss smooth_l1_loss huber_loss kl_div cross_entropy_loss nll_loss
    nll_loss_forward binary_cross_entropy binary_cross_entropy_with_logits cosine_similarity
    triplet_margin_loss hinge_embedding_loss cumsum cumprod cummax cummin logcumsumexp normalize
    """.split()  # noqa: SIM905 - one word a line would fill a page
)
# Same elements in another arrangement, or another type: no arithmetic.
_VIEWS = frozenset(
    """
    view reshape _unsafe_view flatten unflatten squeeze unsqueeze transpose t permute numpy_T mT
    movedim swapaxes stack cat triu tril
    diagonal diag diag_embed broadcast_tensors
    """.split()  # noqa: SIM905 - one word a line would fill a page
)
# A part of the same elements, in the same order: what a gated activation does with its input.
_PARTS = frozenset({"select", "slice", "narrow", "chunk", "split", "split_with_sizes", "unbind"})
# Elementwise in the wide sense; PyTorch does not tag all of these as pointwise.
_ELEMENTWISE = frozenset(
    """
    hardswish _to_copy to type_as contiguous alias detach lift_fresh_copy expand expand_as
    broadcast_to full full_like zeros_like ones_like scalar_tensor dropout where masked_fill pow
    clamp rsub log_sigmoid log_sigmoid_forward square
    """.split()  # noqa: SIM905 - one word a line would fill a page
)


def classify(trace: Iterable[TracedOp]) -> KernelClass:
    """The class of a traced reference.

    A contraction among elementwise operations, views and reductions is MATMUL; elementwise
    operations alone, or on parts of the inputs, are ACTIVATION; those with views and at least
    one reduction are REDUCTION; everything else, and an empty trace, is GENERIC.
    """
    kinds = {_kind(traced.op) for traced in trace}
    if not kinds or "other" in kinds:
        return KernelClass.GENERIC
    if "contraction" in kinds:
        return KernelClass.MATMUL
    if "reduction" in kinds:
        return KernelClass.REDUCTION
    if "elementwise" in kinds and kinds <= {"elementwise", "part", "none"}:
        return KernelClass.ACTIVATION
    return KernelClass.GENERIC


def _kind(op: str) -> str:
    if op == "getitem":
        return "none"
    _, name, overload = op.split(".", maxsplit=2)
    # Two-argument max and min are elementwise overloads of reductions.
    packet = getattr(torch.ops.aten, name)
    if torch.Tag.pointwise in getattr(packet, overload).tags or name in _ELEMENTWISE:
        return "elementwise"
    for kind, names in (
        ("contraction", _CONTRACTIONS),
        ("reduction", _REDUCTIONS),
        ("part", _PARTS),
        ("view", _VIEWS),
    ):
        if name in names:
            return kind
    return "other"
