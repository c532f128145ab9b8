// SPDX-License-Identifier: Apache-2.0
// The module that holds the hardware NIC: found, loaded once, kept. Apart because the program is built and
// runs without it.
#pragma once

#include <filesystem>
#include <memory>

#include "base/result.h"
#include "engine/ub/hardware/nic_model.h"

namespace wharf::hardware {

/// Where the module is looked for: what WHARF_UB_NIC_RTL names, or ../lib/wharf-rtl/libwharf_ub_nic_rtl.so
/// beside the folder of the program.
std::filesystem::path nic_module_file();

/// What is there. Where it is missing, or is no such module, an Error of kind kEnvironment says how to build
/// it. Any thread.
Result<const NicModule*> nic_module();

struct DropModel {
  void (*drop)(NicModel*) = nullptr;
  void operator()(NicModel* model) const { drop(model); }
};
using OwnedModel = std::unique_ptr<NicModel, DropModel>;

}  // namespace wharf::hardware
