// SPDX-License-Identifier: Apache-2.0
// The rules of the contract for this engine.
#define WHARF_CONTRACT_SUITE UetContract
#define WHARF_CONTRACT_ENGINE uet::UetEngine
#include "every_rule.h"
