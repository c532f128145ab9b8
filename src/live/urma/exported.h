// SPDX-License-Identifier: Apache-2.0
// The C interface as the sources see that define it: what these headers declare leaves the library, nothing
// else does.
#pragma once

#pragma GCC visibility push(default)
#include "live/urma/include/urma_api.h"
#include "live/urma/include/urma_perf.h"
#include "live/urma/include/urma_provider.h"
#include "live/urma/include/urma_ubagg.h"
#pragma GCC visibility pop

#include "live/urma/objects.h"
