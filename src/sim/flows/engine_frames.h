// SPDX-License-Identifier: Apache-2.0
// What the frames of a flow take on a link, as the engines in use build them and the codecs measure them.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sim/protocols/protocols.h"
#include "verbs/verb.h"

namespace wharf::sim {

/// Bytes that an Ethernet link is busy for, preamble and gap included.
struct EngineFrames {
  std::uint32_t only = 0;     ///< Beside the payload of a packet that is all of its message,
  std::uint32_t first = 0;    ///< of the first of several,
  std::uint32_t further = 0;  ///< of those that follow: the most that one of them takes,
  std::uint32_t last = 0;     ///< and of the last.
  std::uint32_t answer = 0;   ///< The packet that ends a flow at its source; of a read, that asks for it.
};

/// By two engines of configuration `engines`, one of which has flows of `verb` with the other. An error where
/// no engine can be made, or where no such flow ends.
Result<EngineFrames> engine_frames(wire::Protocol protocol, const EngineConfigs& engines,
                                   std::uint32_t payload, verbs::Verb verb = verbs::Verb::kWrite);

}  // namespace wharf::sim
