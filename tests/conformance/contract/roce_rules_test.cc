// SPDX-License-Identifier: Apache-2.0
// The rules of the contract for this engine.
#define WHARF_CONTRACT_SUITE RoceContract
#define WHARF_CONTRACT_ENGINE roce::RoceEngine
#include "every_rule.h"
