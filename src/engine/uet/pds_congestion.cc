// SPDX-License-Identifier: Apache-2.0
// What congestion management asks of packet delivery: probes, credits, and packets sent again because their
// loss is inferred. [UE 1.0 3.5.16, 3.6.12]
#include "engine/congestion/loss_inference.h"
#include "engine/uet/engine_parts.h"

namespace wharf::uet {

std::uint16_t Pds::probe(std::uint32_t index) {
  const UetPsn base = pdcs_[index]->tx.una;
  send_control(index, wire::UetControlType::kProbe, 0, base);
  return static_cast<std::uint16_t>(base);
}

void Pds::request_credit(std::uint32_t index, std::uint32_t target_units) {
  ++parts_.counters.credit_requests_sent;
  send_control(index, wire::UetControlType::kCreditRequest, 0, target_units);
}

void Pds::send_credit(std::uint32_t index, std::uint32_t total_units) {
  ++parts_.counters.credits_sent;
  send_control(index, wire::UetControlType::kCredit, 0, total_units);
}

TimePs Pds::tail_silence(const Pdc& record) const {
  const UetConfig& config = parts_.config;
  if (!config.infer_loss) return config.tail_loss_time;
  const CongestionContext& context = parts_.cms[record.ccc];
  const auto& nscc = std::get<congestion::NsccConfig>(config.controller);
  return congestion::probe_silence(context.controller.as<congestion::NsccSender>()->base_rtt(),
                                   nscc.target_delay, context.has_data());
}

void Pds::send_tail_probe(TimePs now, std::uint32_t index) {
  Pdc& record = *pdcs_[index];
  ++record.tail_probes;
  ++parts_.counters.tail_probes_sent;
  record.tail_opaque = probe(index);
  record.tail_probed_at = now;
  const UetConfig& config = parts_.config;
  const auto* nscc = parts_.cms[record.ccc].controller.as<congestion::NsccSender>();
  record.tail_at =
      now + (config.infer_loss ? congestion::probe_repetition(nscc->base_rtt()) : config.tail_loss_time);
}

bool Pds::answers_quickly(TimePs now, const Pdc& record, std::uint16_t opaque) const {
  if (record.tail_opaque != opaque) return false;
  const auto* nscc = parts_.cms[record.ccc].controller.as<congestion::NsccSender>();
  const TimePs delay = now - record.tail_probed_at - nscc->base_rtt();
  return delay < std::get<congestion::NsccConfig>(parts_.config.controller).target_delay;
}

void Pds::infer_loss(TimePs now, std::uint32_t index, std::uint32_t out_of_order, bool quick_answer) {
  // ROD has its NACK for gaps.
  Pdc& record = *pdcs_[index];
  if (record.ordered) return;
  PdcSend& tx = record.tx;
  const auto* nscc = parts_.cms[record.ccc].controller.as<congestion::NsccSender>();
  const std::uint32_t packet = std::get<congestion::NsccConfig>(parts_.config.controller).mtu_bytes;
  if (record.inferring && !wire::uet_psn_before(tx.cumulative, tx.infer_until)) record.inferring = false;
  if (!record.inferring) {
    // Choice: a probe that meets no queue tells of loss only while packets are missing that left before it.
    const bool overdue = quick_answer && tx.outstanding() > 0;
    const bool passed =
        out_of_order >= congestion::inferred_loss_threshold(nscc->window(), nscc->max_window(), packet);
    if (!tx.resend.empty() || (!overdue && !passed)) return;
    record.inferring = true;
    tx.infer_until = tx.next - 1;
    tx.inferred = tx.cumulative;
  }
  const auto in_window = static_cast<UetPsn>(nscc->window() / packet);
  UetPsn last = tx.cumulative + in_window;
  if (wire::uet_psn_after(last, tx.infer_until)) last = tx.infer_until;
  UetPsn psn = wire::uet_psn_after(tx.una, tx.inferred + 1) ? tx.una : tx.inferred + 1;
  for (; !wire::uet_psn_after(psn, last); ++psn) {
    const SendEntry& entry = tx.at(psn);
    const bool open = entry.state == EntryState::kSent && entry.sends == 1 && entry.message != kControlEntry;
    // Choice: not yet what left after the probe or answer was on its way, within one base RTT.
    if (open && entry.sent_at + nscc->base_rtt() > now) break;
    tx.inferred = psn;
    if (!open) continue;
    ++parts_.counters.losses_inferred;
    queue_resend(now, index, psn, congestion::LossCause::kGap, kNever);
  }
}

}  // namespace wharf::uet
