// In place of CUTLASS's header, which adds the pipelines of sm_100.
#pragma once

#include <cutlass/pipeline/sm90_pipeline.hpp>
