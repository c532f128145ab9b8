// SPDX-License-Identifier: Apache-2.0
// docs/engine-contract.md, rule by rule, for the engine that includes this; each idea has a file.
#pragma once

#include "byte_rings_rules.h"
#include "capabilities_rules.h"
#include "completion_queues_rules.h"
#include "connections_rules.h"
#include "memory_rules.h"
#include "queue_life_rules.h"
#include "receives_rules.h"
