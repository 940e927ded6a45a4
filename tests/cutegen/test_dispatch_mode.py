import subprocess
import sys

WATCHED = """
import sys, torch
from cutegen.verification.exactness import LargestSum
from cutegen.verification.reduction import SummedTerms
with SummedTerms() as sums, LargestSum() as partial:
    torch.ones(3, 5) @ torch.ones(5, 4)
assert (sums.longest, partial.largest) == (5, 5.0), (sums.longest, partial.largest)
assert "torch._dynamo" not in sys.modules
"""


def test_watching_a_reference_does_not_import_pytorchs_compiler() -> None:
    subprocess.run([sys.executable, "-c", WATCHED], check=True, timeout=120)
