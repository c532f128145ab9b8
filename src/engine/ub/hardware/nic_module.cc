// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/hardware/nic_module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace wharf::hardware {
namespace {

namespace fs = std::filesystem;

Result<const NicModule*> load() {
  const fs::path file = nic_module_file();
  const auto refuse = [&](const std::string& found) {
    return Error{
        ErrorKind::kEnvironment,
        fmt::format("nic.implementation is \"rtl\", but {}: found {}, expected the hardware NIC as a "
                    "module, which `./dev rtl nic` builds where Verilator is installed (./dev setup "
                    "rtl)",
                    file.string(), found)};
  };
  std::error_code status;
  if (!fs::exists(file, status)) return refuse("no such file");
  // It stays: engines of any number of runs hold code of it.
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return refuse(dlerror());
  const auto entry = reinterpret_cast<const NicModule* (*)()>(dlsym(library, kModuleEntry));
  if (entry == nullptr) return refuse(fmt::format("no function {}", kModuleEntry));
  const NicModule* const module = entry();
  if (module->version != kModelVersion)
    return refuse(fmt::format("version {} of its ports, not {}", module->version, kModelVersion));
  return module;
}

}  // namespace

fs::path nic_module_file() {
  std::error_code status;
  // Absolute: a name without a folder would be looked for among the libraries of the machine.
  if (const char* given = std::getenv("WHARF_UB_NIC_RTL"); given != nullptr && *given != '\0')
    return fs::absolute(given, status);
  const fs::path program = fs::read_symlink("/proc/self/exe", status);
  return program.parent_path().parent_path() / "lib" / "wharf-rtl" / "libwharf_ub_nic_rtl.so";
}

Result<const NicModule*> nic_module() {
  static const Result<const NicModule*> kLoaded = load();
  return kLoaded;
}

}  // namespace wharf::hardware
