// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/link_config.h"

#include <fmt/format.h>

namespace wharf::sim {

Result<void> validate(const LinkConfig& config) {
  // Two ends that hear each other at once would never let time go on.
  if (config.delay <= kTimeZero || config.delay > seconds(1))
    return input_error(fmt::format("link.delay is {}, expected 1ps to 1s", format_time(config.delay)));
  WHARF_TRY(validate(config.faults));
  if (config.faults.damage_past_check > 0 && config.wire != WireMode::kBytes)
    return input_error(
        "faults.corruption_past_check needs real frames to damage: expected run.wire = \"bytes\", found "
        "\"structs\"");
  return {};
}

}  // namespace wharf::sim
