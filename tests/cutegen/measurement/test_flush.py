import pytest

from cutegen.measurement.flush import flush_bytes


def test_a_large_cache_is_overwritten_twice() -> None:
    assert flush_bytes(192 << 20) == 384 << 20


def test_a_small_cache_is_flushed_by_a_write_long_enough_to_hide_the_launch() -> None:
    assert flush_bytes(4 << 20) == 256 << 20


def test_a_misread_attribute_is_no_size() -> None:
    with pytest.raises(ValueError, match="misread"):
        flush_bytes(-1)
