// SPDX-License-Identifier: Apache-2.0
// The module that holds the hardware NIC: found, loaded once, kept. Apart because the program is built and
// runs without it.
#pragma once

#include <memory>

#include "base/result.h"
#include "engine/ub/hardware/nic_model.h"

namespace wharf::hardware {

/// The module that WHARF_UB_NIC_RTL names, or ../lib/wharf-rtl/libwharf_ub_nic_rtl.so beside the folder of
/// the program. Where it is missing, one sentence says how to build it. Any thread.
Result<const NicModule*> nic_module();

struct DropModel {
  void (*drop)(NicModel*) = nullptr;
  void operator()(NicModel* model) const { drop(model); }
};
using OwnedModel = std::unique_ptr<NicModel, DropModel>;

}  // namespace wharf::hardware
