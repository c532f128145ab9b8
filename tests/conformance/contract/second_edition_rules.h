// SPDX-License-Identifier: Apache-2.0
// docs/engine-contract.md, rule by rule, for the engine that includes this; each idea has a file.
#pragma once

#include "second_edition_byte_rings.h"
#include "second_edition_capabilities.h"
#include "second_edition_completion_queues.h"
#include "second_edition_connections.h"
#include "second_edition_life.h"
#include "second_edition_memory.h"
#include "second_edition_receives.h"
