// SPDX-License-Identifier: Apache-2.0
// wharf urma show: the devices that URMA programs find on this machine. It asks the library that they load,
// so that it shows what they get.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/nearest_name.h"
#include "cli/command.h"
#include "live/urma/include/urma_api.h"
#include "live/urma/include/urma_types_str.h"
#include "report/text_table.h"

namespace wharf::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kLibrary = "liburma.so.0";

/// The library, loaded and started; ended with it.
class Urma {
 public:
  static Result<std::unique_ptr<Urma>> load(const std::string& file) {
    std::vector<std::string> candidates{file};
    if (file.empty()) {
      // Beside this program, as it is built and installed; else where programs find it.
      std::error_code failed;
      const fs::path root = fs::read_symlink("/proc/self/exe", failed).parent_path().parent_path();
      candidates.clear();
      for (const char* folder : {"lib", "lib64", "lib/x86_64-linux-gnu"})
        candidates.push_back((root / folder / kLibrary).string());
      candidates.emplace_back(kLibrary);
    }
    std::string why;
    for (const std::string& each : candidates) {
      void* const handle = ::dlopen(each.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle == nullptr) {
        const std::string said = ::dlerror();
        // One that is there and cannot be loaded is what people want to hear of, not that the next is
        // missing.
        if (fs::exists(each)) return Error{ErrorKind::kEnvironment, said + "; --library names another one"};
        why = said;
        continue;
      }
      std::unique_ptr<Urma> urma(new Urma(handle));
      WHARF_TRY(urma->start(each));
      return urma;
    }
    return Error{ErrorKind::kEnvironment,
                 fmt::format("no URMA library: {}; --library names another one", why)};
  }
  Urma(const Urma&) = delete;
  Urma& operator=(const Urma&) = delete;
  ~Urma() {
    if (started_) uninit_();
    ::dlclose(handle_);
  }

  const std::string& path() const { return path_; }

  /// Calls act(device) for each.
  template <typename Act>
  Result<void> for_each_device(Act&& act) const {
    int count = 0;
    urma_device_t** const list = get_device_list_(&count);
    if (list == nullptr)
      return Error{ErrorKind::kEnvironment,
                   fmt::format("{} lists no devices: {}", path_, std::strerror(errno))};
    for (int at = 0; at < count; ++at) act(*list[at]);
    free_device_list_(list);
    return {};
  }
  urma_device_attr_t attributes(urma_device_t& device) const {
    urma_device_attr_t attributes{};
    query_device_(&device, &attributes);
    return attributes;
  }
  std::vector<urma_eid_info_t> eids(urma_device_t& device) const {
    std::uint32_t count = 0;
    urma_eid_info_t* const list = get_eid_list_(&device, &count);
    std::vector<urma_eid_info_t> eids;
    if (list != nullptr) eids.assign(list, list + count);
    if (list != nullptr) free_eid_list_(list);
    return eids;
  }

 private:
  explicit Urma(void* handle) : handle_(handle) {}

  template <typename Function>
  bool find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(::dlsym(handle_, name));
    return function != nullptr;
  }
  Result<void> start(const std::string& name) {
    if (!find(init_, "urma_init") || !find(uninit_, "urma_uninit") ||
        !find(get_device_list_, "urma_get_device_list") ||
        !find(free_device_list_, "urma_free_device_list") || !find(query_device_, "urma_query_device") ||
        !find(get_eid_list_, "urma_get_eid_list") || !find(free_eid_list_, "urma_free_eid_list")) {
      return input_error(
          fmt::format("{}: found a library without URMA's calls, expected {}", name, kLibrary));
    }
    Dl_info about{};
    const bool known = ::dladdr(reinterpret_cast<void*>(init_), &about) != 0 && about.dli_fname != nullptr;
    path_ = known ? fs::path(about.dli_fname).lexically_normal().string() : name;
    if (init_(nullptr) != URMA_SUCCESS) {
      const char* const devices = std::getenv("WHARF_URMA_DEVICES");
      return Error{ErrorKind::kEnvironment,
                   fmt::format("{} does not start{}", path_,
                               devices == nullptr ? std::string()
                                                  : fmt::format("; WHARF_URMA_DEVICES is {}, expected "
                                                                "NAME=ADDRESS or interfaces of this machine",
                                                                devices))};
    }
    started_ = true;
    return {};
  }

  void* handle_;
  std::string path_;
  bool started_ = false;
  decltype(urma_init)* init_ = nullptr;
  decltype(urma_uninit)* uninit_ = nullptr;
  decltype(urma_get_device_list)* get_device_list_ = nullptr;
  decltype(urma_free_device_list)* free_device_list_ = nullptr;
  decltype(urma_query_device)* query_device_ = nullptr;
  decltype(urma_get_eid_list)* get_eid_list_ = nullptr;
  decltype(urma_free_eid_list)* free_eid_list_ = nullptr;
};

struct Limit {
  const char* name;
  std::uint32_t urma_device_cap_t::*value;
};
constexpr std::array kLimits{Limit{"max_jfc", &urma_device_cap_t::max_jfc},
                             Limit{"max_jfs", &urma_device_cap_t::max_jfs},
                             Limit{"max_jfr", &urma_device_cap_t::max_jfr},
                             Limit{"max_jetty", &urma_device_cap_t::max_jetty},
                             Limit{"max_jetty_grp", &urma_device_cap_t::max_jetty_grp},
                             Limit{"max_jetty_in_jetty_grp", &urma_device_cap_t::max_jetty_in_jetty_grp},
                             Limit{"max_jfc_depth", &urma_device_cap_t::max_jfc_depth},
                             Limit{"max_jfs_depth", &urma_device_cap_t::max_jfs_depth},
                             Limit{"max_jfr_depth", &urma_device_cap_t::max_jfr_depth},
                             Limit{"max_jfs_inline_len", &urma_device_cap_t::max_jfs_inline_len},
                             Limit{"max_jfs_sge", &urma_device_cap_t::max_jfs_sge},
                             Limit{"max_jfs_rsge", &urma_device_cap_t::max_jfs_rsge},
                             Limit{"max_jfr_sge", &urma_device_cap_t::max_jfr_sge},
                             Limit{"max_read_size", &urma_device_cap_t::max_read_size},
                             Limit{"max_write_size", &urma_device_cap_t::max_write_size},
                             Limit{"max_cas_size", &urma_device_cap_t::max_cas_size},
                             Limit{"max_swap_size", &urma_device_cap_t::max_swap_size},
                             Limit{"max_fetch_and_add_size", &urma_device_cap_t::max_fetch_and_add_size},
                             Limit{"max_fetch_and_sub_size", &urma_device_cap_t::max_fetch_and_sub_size},
                             Limit{"max_fetch_and_and_size", &urma_device_cap_t::max_fetch_and_and_size},
                             Limit{"max_fetch_and_or_size", &urma_device_cap_t::max_fetch_and_or_size},
                             Limit{"max_fetch_and_xor_size", &urma_device_cap_t::max_fetch_and_xor_size},
                             Limit{"ceq_cnt", &urma_device_cap_t::ceq_cnt},
                             Limit{"max_eid_cnt", &urma_device_cap_t::max_eid_cnt},
                             Limit{"max_netaddr_cnt", &urma_device_cap_t::max_netaddr_cnt}};

// Names of bits, the lowest first. [URMA API, device attributes]
constexpr std::array kFeatures{"oor",
                               "jfc_per_wr",
                               "stride_op",
                               "load_store_op",
                               "non_pin",
                               "pmem",
                               "jfc_inline",
                               "spray_en",
                               "selective_retrans",
                               "live_migrate",
                               "dca",
                               "jetty_grp",
                               "error_suspend",
                               "outorder_comp",
                               "mn",
                               "clan",
                               "muti_seg_per_token_id",
                               "ipourma_en",
                               "ctp_en",
                               "uboe"};
constexpr std::array kAtomics{"cas",           "swap",         "fetch_and_add", "fetch_and_sub",
                              "fetch_and_and", "fetch_and_or", "fetch_and_xor"};
constexpr std::array kModes{"RM", "RC", "UM"};
constexpr std::array kOrders{"OT", "OI", "OL", "NO"};
constexpr std::array kTpTypes{"RTP", "CTP", "UTP"};

template <std::size_t kCount>
std::vector<std::string> names_of_bits(std::uint32_t bits, const std::array<const char*, kCount>& names) {
  std::vector<std::string> set;
  for (std::size_t bit = 0; bit < 32; ++bit) {
    if ((bits >> bit & 1U) == 0) continue;
    set.push_back(bit < kCount ? std::string(names[bit]) : fmt::format("bit {}", bit));
  }
  return set;
}

std::string text_of(const urma_eid_t& eid) {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET6, eid.raw, text, sizeof text);
  return text;
}
std::string text_of(const urma_guid_t& guid) {
  std::string text;
  for (std::size_t at = 0; at < sizeof guid.raw; ++at)
    text += fmt::format("{}{:02x}", at != 0 && at % 2 == 0 ? ":" : "", guid.raw[at]);
  return text;
}

Json describe(const Urma& urma, urma_device_t& device) {
  const urma_device_attr_t attributes = urma.attributes(device);
  const urma_device_cap_t& cap = attributes.dev_cap;
  Json eids = Json::array();
  for (const urma_eid_info_t& each : urma.eids(device))
    eids.push_back({{"index", each.eid_index}, {"eid", text_of(each.eid)}});
  Json limits;
  for (const Limit& each : kLimits) limits[each.name] = cap.*each.value;
  limits["max_msg_size"] = cap.max_msg_size;
  Json ports = Json::array();
  for (std::size_t at = 0; at < std::min<std::size_t>(attributes.port_cnt, 8); ++at) {
    const urma_port_attr_t& port = attributes.port_attr[at];
    ports.push_back({{"port", at},
                     {"state", urma_port_state_to_string(port.state)},
                     {"max_mtu", urma_mtu_to_string(port.max_mtu)},
                     {"active_mtu", urma_mtu_to_string(port.active_mtu)},
                     {"active_width", urma_link_width_to_string(port.active_width)},
                     {"active_speed", urma_speed_to_string(port.active_speed)}});
  }
  Json priorities = Json::array();
  for (const auto& each : cap.priority_info)
    priorities.push_back({{"SL", each.SL}, {"tp_types", names_of_bits(each.tp_type.value, kTpTypes)}});
  const char* const type = urma_tp_type_to_string(device.type);
  return {{"name", device.name},
          {"transport", type == nullptr ? "?" : type},
          {"guid", text_of(attributes.guid)},
          {"eids", eids},
          {"trans_modes", names_of_bits(cap.trans_mode, kModes)},
          {"features", names_of_bits(cap.feature.value, kFeatures)},
          {"atomics", names_of_bits(cap.atomic_feat.value, kAtomics)},
          {"rm_orders", names_of_bits(cap.rm_order_cap.value, kOrders)},
          {"rc_orders", names_of_bits(cap.rc_order_cap.value, kOrders)},
          {"rm_tp_types", names_of_bits(cap.rm_tp_cap.value, kTpTypes)},
          {"rc_tp_types", names_of_bits(cap.rc_tp_cap.value, kTpTypes)},
          {"um_tp_types", names_of_bits(cap.um_tp_cap.value, kTpTypes)},
          {"limits", limits},
          {"page_size_cap", cap.page_size_cap},
          {"reserved_jetty_ids", {attributes.reserved_jetty_id_min, attributes.reserved_jetty_id_max}},
          {"priorities", priorities},
          {"ports", ports}};
}

/// One value on one line: lists with commas, lists of objects element by element.
std::string plain(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_structured()) return value.dump();
  std::vector<std::string> parts;
  for (const auto& [key, each] : value.items())
    parts.push_back(value.is_object() ? fmt::format("{} {}", key, plain(each)) : plain(each));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string brief(const Json& devices) {
  report::TextTable table(
      {{"device"}, {"transport"}, {"EID 0"}, {"EIDs", report::Align::kRight}, {"state"}, {"MTU"}});
  for (const Json& each : devices) {
    const Json none = {{"state", "-"}, {"active_mtu", "-"}};
    const Json& port = each["ports"].empty() ? none : each["ports"][0];
    table.add_row({plain(each["name"]), plain(each["transport"]),
                   each["eids"].empty() ? "-" : plain(each["eids"][0]["eid"]),
                   std::to_string(each["eids"].size()), plain(port["state"]), plain(port["active_mtu"])});
  }
  return table.text();
}

std::string whole(const Json& device) {
  report::TextTable table({{"attribute"}, {"value"}});
  for (const auto& [key, value] : device.items()) {
    if (value.is_object()) {
      for (const auto& [name, each] : value.items()) table.add_row({name, plain(each)});
    } else if (value.is_array() && !value.empty() && value[0].is_object()) {
      for (std::size_t at = 0; at < value.size(); ++at)
        table.add_row({fmt::format("{} {}", key, at), plain(value[at])});
    } else {
      table.add_row({key, plain(value)});
    }
  }
  return table.text() + "\n";
}

class UrmaCommand : public Command {
 public:
  std::string_view name() const override { return "urma"; }
  std::string_view summary() const override { return "Show the devices that URMA programs find here."; }
  std::string_view examples() const override {
    return "  wharf urma show\n"
           "  wharf urma show --all --json\n"
           "  WHARF_URMA_DEVICES=left=127.0.0.1,right=127.0.0.2 wharf urma show left\n";
  }
  void declare(Options& app) override {
    Options show = app.add_nested("show", "Devices, their EIDs, and what they can do");
    show.add_option("device", device_, "One device, with all its attributes; by default a line for each")
        .type_name("NAME");
    show.add_flag("--all", all_, "Every device with all its attributes");
    show.add_option("--library", library_,
                    "The liburma to ask; by default wharf's, else the one programs load")
        .type_name("FILE");
  }
  Result<ExitCode> run(const Console& console) override {
    auto urma = Urma::load(library_);
    if (!urma) return urma.error();
    Json devices = Json::array();
    std::vector<std::string> names;
    WHARF_TRY((*urma)->for_each_device([&](urma_device_t& device) {
      names.emplace_back(device.name);
      if (device_.empty() || device_ == device.name) devices.push_back(describe(**urma, device));
    }));
    if (!device_.empty() && names.empty())
      return input_error(fmt::format("there is no device {}: the library lists none", device_));
    if (!device_.empty() && devices.empty()) {
      const auto nearest = nearest_name(device_, std::vector<std::string_view>(names.begin(), names.end()));
      return input_error(fmt::format("there is no device {}, expected {}{}", device_,
                                     fmt::join(names, " or "),
                                     nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
    }
    const bool in_full = all_ || !device_.empty();
    std::string text;
    for (const Json& each : devices) text += in_full ? whole(each) : "";
    if (!in_full) text = brief(devices);
    console.print(std::string_view(text));
    console.print(Json{{"library", (*urma)->path()}, {"devices", devices}});
    return ExitCode::kDone;
  }

 private:
  std::string device_;
  std::string library_;
  bool all_ = false;
};

}  // namespace

std::unique_ptr<Command> make_urma_command() { return std::make_unique<UrmaCommand>(); }

}  // namespace wharf::cli
