#pragma once

#include <cutegen_emulator/machine.hpp>
