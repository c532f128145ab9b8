// SPDX-License-Identifier: Apache-2.0
// The rules of the contract for this engine.
#define WHARF_CONTRACT_SUITE UbContract
#define WHARF_CONTRACT_ENGINE ub::UbEngine
#include "every_rule.h"
