"""What a candidate's source, and the object made of it, may not contain.

This explains; it does not judge. The worker's confinement and the numbers hold against a
source that gets past it, and a word in a comment or a string offends nobody.
"""

from cutegen.source_policy.source import check_source
from cutegen.source_policy.symbols import check_object
from cutegen.source_policy.violation import Violation

__all__ = ["Violation", "check_object", "check_source"]
