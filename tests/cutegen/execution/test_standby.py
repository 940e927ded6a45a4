import pytest
import torch

from cutegen.execution.standby import Standby
from cutegen.measurement.baselines import BaselineError


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_process_that_does_not_come_up_says_why() -> None:
    standby = Standby(0)
    standby.prepare()
    with pytest.raises(BaselineError, match="cannot use its device"), standby.up():
        pass
    standby.close()
