// CuTe's configuration; what a host cannot do is refused with advice, not by an assertion.
#pragma once

#include_next <cute/config.hpp>

#include <cutegen_emulator/atoms/unsupported.hpp>

#undef CUTE_INVALID_CONTROL_PATH
#define CUTE_INVALID_CONTROL_PATH(text) ::cutegen_emu::refuse_instruction(text, __func__)
