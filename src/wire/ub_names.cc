// SPDX-License-Identifier: Apache-2.0
#include "wire/ub_names.h"

namespace wharf::wire {

std::string_view link_config_name(LinkConfig config) {
  switch (config) {
    case LinkConfig::kControl:
      return "control";
    case LinkConfig::kIpv4:
      return "IPv4";
    case LinkConfig::kIpv6:
      return "IPv6";
    case LinkConfig::kCna16:
      return "CNA16";
    case LinkConfig::kCna24:
      return "CNA24";
    case LinkConfig::kMemory:
      return "memory";
  }
  return "reserved";
}

std::string_view congestion_mode_name(CongestionMode mode) {
  switch (mode) {
    case CongestionMode::kCaqm:
      return "C-AQM";
    case CongestionMode::kFecnRtt:
      return "FECN_RTT";
    case CongestionMode::kFecn:
      return "FECN";
  }
  return "reserved";
}

std::string_view nth_next_name(NthNext next) {
  switch (next) {
    case NthNext::kCtph:
      return "CTPH";
    case NthNext::kBypass:
      return "no transport header";
    case NthNext::kRtph:
      return "RTPH";
    case NthNext::kUtph:
      return "UTPH";
  }
  return "reserved";
}

std::string_view tph_next_name(TphNext next) {
  switch (next) {
    case TphNext::kTransaction:
      return "transaction header";
    case TphNext::kFullEntities:
      return "UPIH and EIDH, full";
    case TphNext::kCompactEntities:
      return "UPIH and EIDH, compact";
    case TphNext::kCiph:
      return "CIPH";
  }
  return "reserved";
}

std::string_view ctp_opcode_name(CtpOpcode opcode) {
  switch (opcode) {
    case CtpOpcode::kData:
      return "data";
    case CtpOpcode::kCnp:
      return "CNP";
  }
  return "reserved";
}

std::string_view ub_status_name(UbResponseStatus status) {
  switch (status) {
    case UbResponseStatus::kSuccess:
      return "success";
    case UbResponseStatus::kReceiverNotReady:
      return "receiver not ready";
    case UbResponseStatus::kPageFault:
      return "page fault";
    case UbResponseStatus::kError:
      return "error";
    case UbResponseStatus::kFusedTaack:
      return "with TAACK";
  }
  return "reserved";
}

std::string_view ub_info_name(UbResponseInfo info) {
  switch (info) {
    case UbResponseInfo::kNone:
      return "none";
    case UbResponseInfo::kUnsupportedOpcode:
      return "unsupported opcode";
    case UbResponseInfo::kAccess:
      return "access";
    case UbResponseInfo::kLength:
      return "length";
    case UbResponseInfo::kJettyState:
      return "jetty state";
    case UbResponseInfo::kPoison:
      return "poison";
  }
  return "reserved";
}

std::string_view requester_type_name(RequesterContextType type) {
  switch (type) {
    case RequesterContextType::kSendQueue:
      return "send queue";
    case RequesterContextType::kRequester:
      return "requester context";
    case RequesterContextType::kSequence:
      return "sequence context";
  }
  return "reserved";
}

std::string_view target_type_name(TargetContextType type) {
  switch (type) {
    case TargetContextType::kJfr:
      return "JFR";
    case TargetContextType::kJetty:
      return "Jetty";
    case TargetContextType::kJettyGroup:
      return "Jetty group";
  }
  return "reserved";
}

}  // namespace wharf::wire
