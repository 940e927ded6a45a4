// libcu++'s namespace, served by the host's standard library.
#pragma once

#include <cstddef>

namespace cuda {
namespace std {
using namespace ::std;
}
}  // namespace cuda
