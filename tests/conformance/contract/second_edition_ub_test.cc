// SPDX-License-Identifier: Apache-2.0
// The rules of the contract's second edition for this engine.
#define WHARF_CONTRACT_SUITE UbSecondEdition
#define WHARF_CONTRACT_ENGINE ub::UbEngine
#include "second_edition_rules.h"
