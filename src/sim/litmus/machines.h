// SPDX-License-Identifier: Apache-2.0
// How large the machines of an explored host are. Apart from the world, which puts them together.
#pragma once

#include "sim/coherence/home.h"
#include "sim/coherence/private_cache.h"
#include "sim/host/pcie/rlsq_agent.h"
#include "sim/litmus/program.h"

namespace wharf::sim {

PrivateCacheConfig litmus_cache_config(const LitmusSettings& settings);
HomeConfig litmus_home_config(const LitmusProgram& program);
/// A root complex; `number` counts from 0, and their agents come after those of the host threads.
RlsqAgent make_litmus_root(const LitmusProgram& program, LitmusDesign design, std::uint32_t number);

}  // namespace wharf::sim
