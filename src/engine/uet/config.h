// SPDX-License-Identifier: Apache-2.0
// What a UET engine can be told at creation: every parameter of the specification's tables with its default
// and range, and the bounds of what peers can make the engine hold.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "engine/congestion/any_controller.h"
#include "engine/congestion/oversubscription_rate.h"
#include "engine/congestion/path_selection.h"
#include "engine/congestion/rccc.h"
#include "trace/tracer.h"
#include "verbs/work_request.h"
#include "wire/host_address.h"
#include "wire/uet_packet.h"

namespace wharf::uet {

/// Max_RTO_Retx_Cnt for "try for ever". [UE 1.0 3.5, parameters]
inline constexpr std::uint32_t kRtoRetriesForever = 15;
/// Max_NACK_Retx_Cnt for "try for ever".
inline constexpr std::uint32_t kNackRetriesForever = 31;
/// message_retries for "try for ever".
inline constexpr std::uint32_t kMessageRetriesForever = 0xffff'ffff;

/// The address of an endpoint beside its FEP, as the SES headers carry it. [UE 1.0 3.4]
struct EndpointAddress {
  std::uint32_t job_id = 1;           ///< 24 bits, not 0.
  std::uint16_t pid_on_fep = 0;       ///< 12 bits.
  std::uint16_t resource_index = 15;  ///< 12 bits, not 0. (15: the reference provider's default.)
  bool relative = true;               ///< pid_on_fep is relative to the job; false: to the FEP.
  bool operator==(const EndpointAddress&) const = default;
};

/// Who holds packets back. [UE 1.0 3.6]
enum class CongestionControl : std::uint8_t {
  kNone,      ///< Only the PSN window (MPR).
  kSender,    ///< The controller alone: NSCC or any other.
  kReceiver,  ///< RCCC alone: the receiver's credits.
  kBoth,      ///< Both must permit.
};

/// What a large send does. [UE 1.0 3.4; profiles AI: deferrable, HPC: rendezvous]
enum class LargeSend : std::uint8_t { kEager, kRendezvous, kDeferrable };

/// What a target does with a send for which no receive is posted. [UE 1.0 3.4]
enum class UnexpectedSend : std::uint8_t {
  kKeep,    ///< Keep the payload (list OVERFLOW) while there is room.
  kRefuse,  ///< RC_NO_MATCH; on ROD the RI is disabled.
};

/// How the receiver chooses SACK_BASE.
enum class SackBase : std::uint8_t {
  kTrack,    ///< sack_base_track of the specification; the trigger with an ACK per packet.
  kTrigger,  ///< The UEC's simulator: the trigger when marked or AR, else up to 63 PSNs before it.
};

/// The longest payload of a packet. The length of one packet's payload has 14 bits, 16383 [UE 1.0 3.4]; a
/// whole frame lies in a buffer of 16 KiB, whose last 512 bytes are for headers and trailers. An MTU of 9000
/// fits.
inline constexpr std::uint32_t kPayloadMtuMost = 15'872;

struct UetConfig {
  wire::HostAddress host{};

  // --- Addressing and encapsulation.
  wire::UetEncapsulation encapsulation = wire::UetEncapsulation::kUdp;  ///< UET_Over_UDP 1.
  /// UET_Data_Protect: 0 none, 1 CRC. Choice: 1, as captures and byte-wise runs expect; the specification has
  /// 0.
  wire::UetProtection protection = wire::UetProtection::kCrc;
  EndpointAddress endpoint;         ///< Of the first queue; further queues count resource_index up.
  std::uint32_t initiator_id = 16;  ///< 32 bits; job-defined, e.g. a rank. (16: reference provider.)
  bool use_ri_generation = false;   ///< Endpoints have generations, so that order survives a disabled RI.
  /// True: buffer_offset is the address at the target; false: counted from the region's base.
  bool virtual_addresses = true;
  bool medium_headers = false;  ///< Single-packet requests may use the 32-byte header.
  bool small_headers = false;   ///< Keys are made OPTIMIZED, and single-packet RMA uses the 20-byte header.

  // --- PDS [UE 1.0 3.5; parameter table].
  /// Bytes, 256..kPayloadMtuMost in steps of 2 (4086: the UEC's simulator); default of the provider 1024.
  std::uint32_t payload_mtu = 4096;
  bool limit_psn_range = true;            ///< Limit_PSN_Range: close a PDC when it has used 2^31 PSNs.
  std::uint32_t default_mpr = 8;          ///< Default_MPR, units of 128 PSNs: 1..255 (0 counts as 1).
  std::uint32_t max_ack_data_bytes = 16;  ///< Max_ACK_Data_Size: 0..payload_mtu bytes of read data in an ACK.
  std::uint32_t trimmable_ack_bytes = 10240;  ///< Trimmable_ACK_Size: longer ACKs may be trimmed.
  bool ack_on_ecn = true;                     ///< ACK_On_ECN.
  bool ack_per_packet = false;                ///< Enb_ACK_Per_Pkt: AR on every request.
  std::uint32_t ack_trigger_bytes = 16384;    ///< ACK_Gen_Trigger: up to 32 KiB.
  std::uint32_t ack_min_packet_bytes = 1024;  ///< ACK_Gen_Min_Pkt_Add: up to 2 KiB.
  bool ack_every_syn = true;          ///< False: only the first packet of a PDC (the UEC's simulator).
  TimePs rto_init = milliseconds(1);  ///< RTO_Init_Time: up to 8 s; RTO(n) = init * 2^n.
  bool rto_back_off = true;           ///< False: every RTO is rto_init (the UEC's simulator).
  TimePs rto_cap = seconds(4);        ///< Longest RTO. Choice: 4 s as the suet provider.
  /// Zero: the first RTO is rto_init. Else it follows the round trips to the host, never below this nor above
  /// rto_cap. Choice: the specification has none; as TCP. [RFC 6298]
  TimePs rto_floor{};
  std::uint32_t max_rto_retries = 5;              ///< Max_RTO_Retx_Cnt: 0..14, or kRtoRetriesForever.
  TimePs nack_retransmit_time = milliseconds(1);  ///< NACK_Retx_Time: up to 8 s.
  std::uint32_t max_nack_retries = 5;             ///< Max_NACK_Retx_Cnt: 0..30, or kNackRetriesForever.
  TimePs clear_time = milliseconds(1);            ///< PDS_Clear_Time.
  TimePs close_request_time = milliseconds(1);    ///< Close_REQ_Time.
  TimePs tail_loss_time{};                   ///< Tail_Loss_Time: probe after this silence; 0: no tail probes.
  std::uint32_t max_tail_loss_probes = 5;    ///< Max_Tail_Loss_Retx.
  TimePs idle_timeout = milliseconds(5000);  ///< An idle PDC is closed; 0: never. (5 s: reference provider.)
  /// A closed PDC is remembered so long by its target, against stale SYNs (Syn_Retx_Safety_Time of 1.0.3).
  /// 0: twice the longest RTO.
  TimePs syn_safety_time{};
  std::uint32_t pdc_limit = 1000;         ///< General pool, each for own and for others' PDCs: 1..16384.
  std::uint32_t reserved_pdc_limit = 16;  ///< Reserved pool, likewise.
  std::uint16_t first_initiator_pdcid = 0x4001;  ///< General pool of the PDCs that this engine opens.
  std::uint16_t first_target_pdcid = 0x8001;     ///< General pool of the PDCs that others open.
  std::optional<wire::UetPsn> start_psn;         ///< Of an identifier's first PDC, for examples; else drawn.
  SackBase sack_base = SackBase::kTrack;
  bool nack_out_of_window = true;  ///< Answer PSNs outside the window with a NACK; false: drop.

  // --- CMS [UE 1.0 3.6].
  CongestionControl congestion = CongestionControl::kSender;
  congestion::ControllerConfig controller;  ///< Of every CCC.
  /// Each connection (a peer of a queue) has a PDC and a CCC of its own, so that its messages wait for no
  /// other's; false: those toward one host, job and order share them. Both ends must say the same.
  bool contexts_per_connection = false;
  std::uint32_t paths = 64;  ///< Entropy values per CCC: a power of two up to 65536.
  congestion::PathChoice path_choice = congestion::PathChoice::kOblivious;  ///< How packets of RUD take them.
  bool draw_path_bits = false;  ///< congestion::PathConfig::draw_upper_bits.
  /// Receiver credit, both ends: what this host may send into credit, and hands out. kReceiver and kBoth.
  congestion::RcccConfig credit;
  /// Credit follows marks and trims, too, where the fabric is oversubscribed.
  std::optional<congestion::OversubscriptionConfig> oversubscribed;
  /// RUD: packets count as lost when too many others have arrived, or when a probe after a silence is
  /// answered quickly; for fabrics that do not trim. Needs NSCC. tail_loss_time is not looked at then.
  bool infer_loss = false;
  /// Target flow control: while this host is behind in placing what has arrived, its acknowledgements ask for
  /// smaller windows (rcv_cwnd_pend); once it has caught up, for those from before (restore_cwnd). Needs
  /// NSCC. Choice: the text of 3.6.15 is not public; the limits are those of the UEC simulator's model of
  /// PCIe.
  bool target_flow_control = false;
  std::uint64_t backlog_low_bytes = 1'000'000;   ///< Up to here no window is too large;
  std::uint64_t backlog_high_bytes = 4'750'000;  ///< from here on the most is asked for.
  bool base_rtt_probe = true;      ///< NSCC: a Probe CP after the first answer gives an early sample.
  bool retransmit_as_data = true;  ///< Retransmissions share the class of data (TC_low).
  /// Bytes per packet beside the payload that count toward windows and toward ack_trigger_bytes; 0: the
  /// specification's rules, transport size (UDP length) + 40 for windows and the payload alone for the
  /// trigger. The UEC's simulator counts 64 for both.
  std::uint32_t window_overhead_bytes = 0;
  /// Bytes of everything but payload that links count; 0: the real headers.
  std::uint32_t nominal_header_bytes = 0;

  // --- SES [UE 1.0 3.4].
  LargeSend large_send = LargeSend::kEager;
  std::uint32_t large_send_bytes = 8192;  ///< Sends longer than this are large. (8192: reference provider.)
  std::uint32_t eager_bytes = 0;          ///< Rendezvous: bytes sent with the request; at most one MTU.
  std::uint32_t max_message_bytes = 0xffff'fffe;  ///< Longest message.
  UnexpectedSend unexpected = UnexpectedSend::kKeep;
  /// Restarts after RC_NO_MATCH, RC_DISABLED...: up to 65535, or kMessageRetriesForever.
  std::uint32_t message_retries = 5;
  TimePs message_retry_time = milliseconds(50);  ///< Wait before each. (Reference provider: 50 to 100 ms.)
  verbs::Delivery one_sided_delivery = verbs::Delivery::kUnordered;  ///< For Delivery::kDefault.
  verbs::Delivery two_sided_delivery = verbs::Delivery::kOrdered;    ///< For Delivery::kDefault.
  std::uint32_t rudi_window = 64;  ///< RUDI packets outstanding at most: 1..65535.

  // --- Bounds of what peers can make this engine hold.
  std::uint32_t outbound_messages = 65535;    ///< Own requests and read responses: 1..65535.
  std::uint32_t inbound_messages = 4096;      ///< Messages of others that are not complete.
  std::uint32_t stored_responses = 4096;      ///< Guaranteed-delivery responses not yet cleared.
  std::uint32_t unexpected_messages = 1024;   ///< Kept without a posted receive.
  std::uint32_t held_packets = 4096;          ///< Payloads kept for a receive or for their SOM packet.
  std::uint32_t packets_in_execution = 4096;  ///< Requests of others whose memory accesses are under way.
  /// Packets whose payload is fetched before they leave: shared by the destinations with data, each one's
  /// next packet always among them.
  std::uint32_t fetch_ahead_packets = 16;

  std::uint64_t seed = 1;           ///< For Start_PSN and entropy values.
  trace::Tracer* tracer = nullptr;  ///< May be null; outlives the engine.
};

/// Refuses values outside the ranges above; the message names the key.
Result<void> validate(const UetConfig& config);

}  // namespace wharf::uet
