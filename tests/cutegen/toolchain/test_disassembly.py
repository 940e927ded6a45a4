from pathlib import Path

import pytest

from cutegen.toolchain.disassembly import disassemble, parse_disassembly

TEXT = """
Fatbin elf code:
\t\tFunction : _Z5scalePKfPf
        /*0000*/                   LDC R1, c[0x0][0x28] ;                 /* 0x00000a00ff017b82 */
                                                                          /* 0x000fe20000000800 */
        /*0010*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;  /* 0x0 */
        /*0020*/                   LDG.E R4, desc[UR4][R2.64] ;           /* 0x0 */
        /*0030*/               @P1 STG.E.U16 desc[UR4][R2.64], R4 ;       /* 0x0 */
        /*0040*/                   HGMMA.64x128x16.F32 R24, gdesc[UR8], R24 ;  /* 0x0 */
        /*0050*/                   EXIT ;                                 /* 0x0 */
.L_x_0:
        /*0060*/                   BRA `(.L_x_0);                         /* 0x0 */
        /*0070*/                   NOP;                                   /* 0x0 */
"""


def test_instructions_are_counted_by_opcode_and_width() -> None:
    (code,) = parse_disassembly(TEXT)
    assert code.kernel == "scale"
    assert code.total == 6
    assert code.widths("LDG") == {32: 1, 128: 1}
    assert code.widths("STG") == {16: 1}
    assert code.count("HGMMA", "HMMA") == 1


def test_what_is_no_library_is_told(tmp_path: Path) -> None:
    path = tmp_path / "candidate.so"
    path.write_text("no library")
    with pytest.raises(RuntimeError, match="cannot read"):
        disassemble(path)
