// SPDX-License-Identifier: Apache-2.0
// The rules of the contract's second edition for this engine.
#define WHARF_CONTRACT_SUITE RoceSecondEdition
#define WHARF_CONTRACT_ENGINE roce::RoceEngine
#include "second_edition_rules.h"
