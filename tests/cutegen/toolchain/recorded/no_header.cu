#include <cute/tenosr.hpp>
#include <cute/tensor.hpp>
#include "cutegen_args.h"
using namespace cute;
