#pragma once

#include <cutegen_emulator/vector_types.hpp>
