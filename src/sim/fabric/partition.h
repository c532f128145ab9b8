// SPDX-License-Identifier: Apache-2.0
// A part of the fabric that one thread runs: its events, its packets, its switches' ports and its hosts.
//
// Output ports are served lazily: decisions (which packet next, is it marked) are taken when something looks
// at the port, in the order and with the outcome that they would have at their own times. A decision at time
// s sees every arrival at or before s; a port that is idle starts at once.
//
// Who looks when is done in one of two ways, with the same results. Nodes act in turns (partition_turns.h)
// where that is possible. Otherwise there is one event per packet and hop: each directed link has at most one
// pending, the arrival of its first packet in flight at the far end. A decision at s makes an arrival after
// s + delay, and whatever is in flight arrives before that, so looking when the link's first packet arrives
// is never too late. Hosts lag behind in the same way: what their interfaces send and what their timers do is
// computed when an arrival, or the first packet of their link, needs it. Ports under flow control or
// link-level retry owe their neighbours prompt answers; they have service events of their own, and take the
// same decisions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/time.h"
#include "sim/fabric/arrival_order.h"
#include "sim/fabric/body_store.h"
#include "sim/fabric/fabric_event.h"
#include "sim/fabric/fabric_host.h"
#include "sim/fabric/fabric_state.h"
#include "sim/fabric/load_balancing.h"
#include "sim/fabric/partition_exchange.h"
#include "sim/fabric/partition_samples.h"
#include "sim/fabric/port_queue.h"
#include "sim/kernel/lookahead.h"
#include "trace/attribution.h"

namespace wharf::sim {

template <FabricHost Host>
class Partition {
 public:
  using Body = typename Host::Body;
  using Context = typename ContextOf<Host>::Type;

  /// `number`: this partition's, below `count`. The state outlives it and is complete but for the hosts.
  Partition(FabricState<Host>& state, std::uint32_t number, std::uint32_t count);

  /// After the hosts have been made: schedules what is known beforehand.
  void start();
  /// Executes all events before `end`, then everything that must be known to others at `end`.
  void run_until(TimePs end);
  /// Takes all decisions before `end` everywhere, so that counts are those of that instant. run_until(end)
  /// has been called.
  void catch_up(TimePs end);
  /// Samples at `now`, the end of the last run, unless that has been done or nothing is sampled.
  void sample_end(TimePs now) {
    if (samples_.next() == kNever || samples_.are_taken(now)) return;
    sample(now);
  }
  /// Between runs: hosts' deadlines have been brought forward from outside.
  void wake_hosts() {
    for (NodeId host = 0; host < state_.topology->host_count(); ++host) {
      if (state_.partition_of[host] != number_) continue;
      refresh(host);
      schedule_wake(host);
    }
  }
  /// The time of the next event; kNever when there is none.
  TimePs next_time() { return min(events_.next_time(), next_turn_); }
  /// Brings near what accept() will touch, which another core has written last.
  [[gnu::always_inline]] void fetch(const Crossing& crossing) const {
    if (crossing.head.body != kNoBody) bodies_.prefetch(crossing.head.body);
    __builtin_prefetch(&ports_[crossing.link + links_], 1);
  }
  /// Takes in a packet from another partition, with the bytes that crossed with it.
  void accept(const Crossing& crossing, const std::byte* payloads);
  /// What the others must get: packets, payloads and bodies after run_until(), spans after hand_over_spans().
  PartitionExchange& exchange() { return exchange_; }
  /// The hosts meet: what was reported about operations goes to the hosts that have opened them.
  void hand_over_spans();
  void accept_spans(std::vector<trace::ForeignSpan>& spans);
  /// Everything that was reported up to now is known.
  void close_accounts();
  void accept_bodies(std::vector<BodyId>& bodies);
  /// Between windows: what hosts of some partition have told, at the times at which it is heard, none before
  /// the end of the last window. Then hear_all(), when every partition's have been taken.
  void take_notices(const std::vector<Notice>& notices) {
    heard_.insert(heard_.end(), notices.begin(), notices.end());
  }
  void hear_all();

  Context& context() { return context_; }
  /// A host has ended the run at once, wherever the others are.
  bool halted() const {
    if constexpr (requires(const Context& context) { context.halted; }) return context_.halted;
    return false;
  }
  const PartitionCounters& counters() const { return counters_; }
  std::uint64_t in_flight(PortId id) const {
    std::uint64_t count = 0;
    for (SlotId slot = ports_[id].flight_head; slot != kNoSlot; slot = heads_[slot].next) {
      const PacketHead& head = heads_[slot];
      const bool copy = (head.flags & kHeadSequenced) != 0 && head.body == kNoBody;
      if (!copy && !is_retry_control(head)) ++count;
    }
    return count + kept_for_retry(id);
  }
  std::uint32_t packets_in_fabric() const { return heads_.in_use() - 1; }
  const PartitionSamples& samples() const { return samples_; }
  const std::vector<PauseRecord>& pauses() const { return pauses_; }
  std::vector<CapturedPacket<Body>>& captures() { return captures_; }
  /// Queues of `port` with packets that flow control holds back, one bit each.
  unsigned held_queues(PortId port) const {
    const unsigned waiting = ports_[port].waiting & ((1U << kPortQueues) - 1);
    return waiting & ~affordable(ports_[port], port);
  }
  /// Of the packets in the held queues of `port`: through which links they came, each once. For reports.
  std::vector<PortId> waiting_from(PortId port) const;

 private:
  /// An event that will soon be executed.
  struct alignas(32) ComingEvent : FabricEvent {
    Port* in = nullptr;  ///< Arrivals: the link's record.
  };
  friend class Lookahead<FabricEvent, ComingEvent>;

  static constexpr PortId kNoPort = 0x7fff'ffff;
  /// Hint of an event whose output port has been looked up: the port with the top bit set.
  static constexpr std::uint32_t kHintPort = 0x8000'0000;
  static constexpr std::uint32_t kNoHint = 0;
  /// Port::waiting of a host's port: its host may have something to send.
  static constexpr std::uint8_t kAskHost = 0x80;

  /// Where a packet that waits in a switch under flow control is counted.
  struct Held {
    std::uint32_t link = 0xffff'ffff;  ///< Index into ports (far half where the link crosses).
    std::uint16_t bytes = 0;
    std::uint8_t queue = 0;
  };

  std::uint32_t record_of(const FabricEvent& event) const {
    return event.number() + (event.far_half() ? links_ : 0);
  }

  // Fetching ahead (partition_fetch.h).
  void known(ComingEvent& event);
  void fetch_first(ComingEvent& event);
  void fetch_second(const ComingEvent& event);
  void fetch_oldest(const Port& port);

  // Links and switches (partition_switching.h, partition_detours.h).
  void push(const FabricEvent& event) { events_.push(event, *this); }
  void arrive(const ComingEvent& event);
  bool inspect(TimePs now, std::uint32_t record, PortId number, SlotId slot);
  void expect(const Port& port, TimePs at, std::uint32_t link, bool far_half, SlotId hint);
  void rearm(Port& in, const FabricEvent& event);
  void push_arrival(TimePs at, std::uint32_t link, bool far_half, SlotId hint);
  void forward(TimePs now, const Port& in, SlotId slot, std::uint32_t record, PortId number, PortId out);
  PortId route(TimePs now, SwitchState& sw, const PacketHead& head);
  PortId route_from(TimePs now, PortId link, SwitchState& sw, PacketHead& head);
  void steer(TimePs now, PortId link, SwitchState& sw, PacketHead& head);
  bool is_worth(TimePs now, SwitchState& sw, const PacketHead& head, PortId detour, std::uint32_t over);
  std::uint64_t queued_bytes(TimePs now, PortId number);
  std::uint32_t pick(TimePs now, SwitchState& sw, const PacketHead& head, PortGroup group);
  std::uint32_t least_loaded(TimePs now, std::uint32_t preferred, PortGroup group);
  void enqueue(TimePs now, PortId out, SlotId slot);
  void overflow(Port& port, PortId out, SlotId slot, std::uint32_t queue, const PortProfile& profile);
  std::uint64_t draw(Port& port, PortId number);
  void advance(Port& port, PortId number, TimePs until);
  void serve(Port& port, PortId number, TimePs until);
  std::uint32_t choose(Port& port, PortId number, unsigned eligible, const PortProfile& profile);
  std::uint32_t choose_weighted(Port& port, PortId number, unsigned eligible, const PortProfile& profile);
  void depart(Port& port, PortId number, SlotId slot, std::uint32_t queue, const PortProfile& profile);
  void mark(Port& port, PortId number, PacketHead& head, std::uint32_t queue, const PortQueueConfig& config);
  void grant(Port& port, PortId number, PacketHead& head, std::uint32_t queue);
  TimePs serialisation(const Port& port, PortId number, std::uint32_t bytes) const;
  TimePs received_in(const Port& in, PortId number, SlotId slot, std::uint32_t bytes) const;
  /// Drops a packet; recycle() alone when its body has been consumed.
  void discard(SlotId slot);
  void recycle(SlotId slot);

  // Links (partition_links.h).
  void launch(Port& port, PortId number, SlotId slot, PacketHead& head);
  void launch_specially(Port& port, PortId number, SlotId slot, PacketHead& head);
  void launch_unprotected(Port& port, PortId number, SlotId slot);
  TimePs handled_at(const Port& port, PortId number, const PacketHead& head, TimePs begin,
                    TimePs serial) const;
  TimePs handled_by_rule(Port& port, PortId number, const PacketHead& head, TimePs serial);
  void capture(TimePs at, PortId number, const PacketHead& head);
  void fly(Port& port, PortId number, SlotId slot, TimePs at);
  bool insert_flight(Port& port, SlotId slot);
  bool happens(Port& port, PortId number, FaultDraw which, double probability);
  std::uint64_t draw_fault(Port& port, PortId number, FaultDraw which);
  TimePs draw_time(Port& port, PortId number, FaultDraw which, TimePs most);
  const LinkFaults& faults_of(PortId number) const;
  bool survives(Port& port, PortId number, PacketHead& head);
  void note_damage(PortId number, const PacketHead& head);
  bool pass(Port& port, PortId number, SlotId slot, TimePs serial);
  SlotId duplicate(SlotId slot);
  void report_delay(SlotId slot, PortId number, TimePs carried, TimePs arrival);
  void report_loss(TimePs at, PortId number, const PacketHead& head, LinkLoss why);

  // Hosts (partition_hosts.h).
  void deliver(TimePs now, const Port& in, std::uint32_t link, SlotId slot);
  void wake(TimePs now, std::uint32_t host);
  void advance_host(std::uint32_t host, TimePs until);
  void after_input(std::uint32_t host, TimePs now);
  void ask_ports(std::uint32_t host, TimePs now);
  bool pull(std::uint32_t host, std::uint32_t k, Port& port, PortId number, ClassMask allowed);
  void schedule_wake(std::uint32_t host);
  void wake_woken(TimePs now);
  void refresh(std::uint32_t host);
  bool ingest(TimePs now, std::uint32_t host, std::uint32_t link, const PacketHead& head);
  void drain_ingest(TimePs now, IngestState& state);
  void resume_ingest(TimePs now, std::uint32_t host);

  // Nodes in turns (partition_turns.h).
  TimePs end_of_turn(TimePs due);
  void act_in_turns(TimePs end);
  template <typename Act>
  void let_act(const std::vector<NodeId>& nodes, NodeId first, TimePs end, Act&& act);
  template <typename FetchAhead>
  void act_as_switch(std::uint32_t index, TimePs end, FetchAhead&& fetch_ahead);
  template <typename FetchAhead>
  void act_as_host(std::uint32_t host, TimePs end, FetchAhead&& fetch_ahead);
  void gather(NodeId node, TimePs end);
  bool take_in(std::uint32_t host, TimePs end);
  void note_turn(NodeId node);
  template <int kStep>
  void fetch_switch(std::uint32_t index);
  template <int kStep>
  void fetch_host(std::uint32_t host);

  // Flow control (partition_flow_control.h).
  void enqueue_held(TimePs now, PortId out, SlotId slot, std::uint32_t link);
  void hold(TimePs now, std::uint32_t link, std::uint32_t queue, SlotId slot);
  void release(TimePs now, Held held);
  void service(TimePs now, PortId number);
  bool serve_once(TimePs now, Port& port, PortId number);
  bool serve_host_once(TimePs now, Port& port, PortId number);
  unsigned affordable(const Port& port, PortId number) const;
  std::uint32_t credit_cost(std::uint32_t bytes) const;
  void spend(PortId number, std::uint32_t queue, std::uint32_t bytes);
  void arm_service(TimePs at, Port& port, PortId number);
  void send_control(TimePs now, PortId number, std::uint32_t content);
  void lose_control(PortId number);
  void tell_again(TimePs now, PortId number);
  void handle_control(TimePs now, std::uint32_t link, std::uint32_t record, const PacketHead& head);
  void report_freed(TimePs now, std::uint32_t link, std::uint32_t queue);
  void free_without_way(TimePs now, std::uint32_t link, const PacketHead& head);
  void free_unstored(TimePs now, std::uint32_t link, std::uint32_t queue, std::uint32_t bytes);
  void arm_consumed_update(TimePs at, PortId number);
  void report_consumed(TimePs now, PortId number);
  void arm_pause_refresh(TimePs now, std::uint32_t link);
  void refresh_pauses(TimePs now, std::uint32_t link);
  void arm_pause_end(TimePs at, PortId number);
  void end_pauses(TimePs now, PortId number);
  void resume(TimePs now, PortId number, std::uint32_t queue);
  void repair_credits(TimePs now, std::uint32_t link, std::uint32_t queue, std::uint32_t consumed);

  // Link-level retry (partition_retry.h).
  bool retries(PortId number) const { return !state_.retry_senders.empty() && state_.config.retries(number); }
  std::uint32_t record_back(PortId number) const;
  TimePs round_latency(PortId number) const;
  TimePs replay_time(PortId number) const;
  TimePs nack_time(PortId number) const;
  void send_frame(Port& port, PortId number, SlotId slot);
  void send_kept(Port& port, PortId number, std::uint32_t index);
  TimePs& last_arrival(PortId number);
  bool serve_retry(TimePs now, Port& port, PortId number);
  void send_ordered_set(Port& port, PortId number, std::uint32_t content);
  bool may_send_new(PortId number, std::uint32_t bytes) const;
  bool serve_replay(Port& port, PortId number);
  bool inspect_specially(TimePs now, std::uint32_t record, PortId number, SlotId slot);
  void answer_retry(TimePs now, PortId number);
  void handle_retry(TimePs now, PortId number, const PacketHead& head);
  void begin_replay(TimePs now, PortId number);
  void flush_retry(TimePs now, PortId number, bool again);
  void arm_replay_timer(PortId number, TimePs deadline);
  void replay_timer(TimePs now, PortId number);
  void ack_timer(TimePs now, PortId number);
  std::uint64_t kept_for_retry(PortId number) const;
  void note_sequence(SlotId slot, std::uint32_t sequence);

  // Changes over time (partition_control.h).
  void control(TimePs now, std::uint32_t number);
  void change_link(TimePs now, std::uint32_t index);
  void use_tables(std::uint32_t index);
  void sample(TimePs now);
  OccupancySample look_at(PortId id, TimePs now);
  void flush(TimePs end);

  FabricState<Host>& state_;
  Port* const ports_;
  SwitchState* const switches_;
  Host* hosts_;
  const RoutingTables* routes_;
  const Detours* detours_;  ///< Null: all ways are minimal.
  const std::uint32_t number_;
  const std::uint32_t links_;
  const NodeId first_switch_;
  const bool served_;  ///< Ports have service events: flow control or link-level retry.
  const bool turns_;   ///< Nodes act in turns.
  /// Bits of Port::waiting that make events look at a port: none where it has service events of its own; not
  /// the host's where nodes act in turns.
  const std::uint8_t lazy_;
  const bool cut_through_;
  bool stateless_routes_;
  bool any_down_ = false;
  HeadPool heads_;
  BodyPool<Body> bodies_;
  Lookahead<FabricEvent, ComingEvent> events_;
  SlotId spare_slot_;
  BodyId spare_body_;
  PartitionCounters counters_;
  Context context_;
  std::vector<Held> held_;  ///< By slot, where ports have service events.
  /// By slot, of frames that have one; of others the change that the rate of their link is from.
  std::vector<std::uint32_t> sequences_;
  PartitionExchange exchange_;
  std::vector<PortId> crossing_ports_;
  TimePs next_turn_ = kNever;                              ///< No node has to act before.
  std::vector<NodeId> own_switches_;                       ///< Of this partition, by their index,
  std::vector<NodeId> own_hosts_;                          ///< and the hosts.
  std::vector<std::uint32_t> acting_;                      ///< Those that act in the turn under way,
  std::vector<std::pair<std::uint32_t, SlotId>> flights_;  ///< Links to a switch, and a packet of each.
  ArrivalOrder arrivals_;                                  ///< and what comes to one of the switches.
  PartitionSamples samples_;
  std::vector<PauseRecord> pauses_;
  std::vector<CapturedPacket<Body>> captures_;
  std::vector<Notice> heard_;
};

/// Numbers of control events: link changes by their index, then table changes.
inline constexpr std::uint32_t kControlTables = 1U << 27U;
/// From here on: a port tells what credits it has consumed.
inline constexpr std::uint32_t kControlConsumedUpdates = 1U << 28U;
/// A node tells again what it pauses, by the record of the link; pauses of a port end.
inline constexpr std::uint32_t kControlPauseRefreshes = kControlConsumedUpdates + (1U << 25U);
inline constexpr std::uint32_t kControlPauseEnds = kControlPauseRefreshes + (1U << 25U);
/// The replay timer of a port; it may send the next LLR_ACK.
inline constexpr std::uint32_t kControlReplayTimers = kControlPauseEnds + (1U << 25U);
inline constexpr std::uint32_t kControlRetryAcks = kControlReplayTimers + (1U << 25U);

template <FabricHost Host>
Partition<Host>::Partition(FabricState<Host>& state, std::uint32_t number, std::uint32_t count)
    : state_(state),
      ports_(state.ports.data()),
      switches_(state.switches.data()),
      hosts_(nullptr),
      routes_(&state.tables[0]),
      detours_(state.detours.empty() ? nullptr : state.detours.data()),
      number_(number),
      links_(static_cast<std::uint32_t>(state.topology->ports().size())),
      first_switch_(state.topology->host_count()),
      served_(state.config.serves_by_event()),
      turns_(state.turn > kTimeZero),
      lazy_(served_ ? std::uint8_t{0} : static_cast<std::uint8_t>(turns_ ? ~kAskHost : ~0)),
      cut_through_(state.config.switching == Switching::kCutThrough),
      stateless_routes_((state.config.load_balancing == LoadBalancing::kEcmpHash ||
                         state.config.load_balancing == LoadBalancing::kSpray) &&
                        detours_ == nullptr),
      bodies_(state.bodies),
      exchange_(count) {
  spare_body_ = bodies_.acquire();
  spare_slot_ = heads_.acquire();
}

template <FabricHost Host>
void Partition<Host>::start() {
  hosts_ = state_.hosts.data();
  for (NodeId node = 0; node < state_.topology->nodes().size(); ++node) {
    if (state_.partition_of[node] != number_) continue;
    if (state_.topology->is_host(node)) {
      own_hosts_.push_back(node);
    } else {
      own_switches_.push_back(node - state_.topology->host_count());
    }
  }
  if constexpr (requires(const Host& host) { host.root(); }) {
    for (NodeId host = 0; host < state_.topology->host_count(); ++host) {
      if (state_.partition_of[host] == number_) state_.roots[host] = hosts_[host].root();
    }
  }
  const Topology& topology = *state_.topology;
  for (PortId id = 0; id < links_; ++id) {
    if (state_.partition_of[topology.port(id).node] == number_ && (ports_[id].flags & kPortCrosses) != 0)
      crossing_ports_.push_back(id);
  }
  for (std::uint32_t i = 0; i < state_.config.changes.size(); ++i) {
    const LinkChange& change = state_.config.changes[i];
    if (state_.partition_of[topology.port(change.port).node] == number_)
      push(FabricEvent::make(change.at, FabricEventKind::kControl, i, false));
  }
  for (std::uint32_t i = 0; i < state_.table_from.size(); ++i)
    push(FabricEvent::make(state_.table_from[i], FabricEventKind::kControl, kControlTables + i, false));
  samples_.start(state_.config, topology, state_.partition_of, number_);
  wake_hosts();
}

template <FabricHost Host>
void Partition<Host>::run_until(TimePs end) {
  for (;;) {
    // Samples are no events, so that a fabric in which nothing happens any more has none pending.
    const TimePs due = min(end, samples_.next());
    const TimePs stop = turns_ ? end_of_turn(due) : due;
    if (turns_) {
      act_in_turns(stop);
      if (stop < due) continue;
    }
    const TimePs last = stop - picoseconds(1);
    ComingEvent event;
    while (events_.pop_until(last, event, *this)) {
      switch (event.kind()) {
        case FabricEventKind::kArrival:
          arrive(event);
          break;
        case FabricEventKind::kWake:
          wake(event.time, event.number());
          break;
        case FabricEventKind::kService:
          service(event.time, event.number());
          break;
        case FabricEventKind::kControl:
          control(event.time, event.number());
          break;
      }
      if (!context_.woken.empty()) [[unlikely]]
        wake_woken(event.time);
      if constexpr (requires(const Context& context) { context.halted; }) {
        if (context_.halted) [[unlikely]]
          return;
      }
    }
    if (stop == end) break;
    sample(stop);
    samples_.pass();
  }
  if (!crossing_ports_.empty()) flush(end);
}

}  // namespace wharf::sim

#include "sim/fabric/partition_control.h"
#include "sim/fabric/partition_detours.h"
#include "sim/fabric/partition_fetch.h"
#include "sim/fabric/partition_flow_control.h"
#include "sim/fabric/partition_hosts.h"
#include "sim/fabric/partition_links.h"
#include "sim/fabric/partition_retry.h"
#include "sim/fabric/partition_switching.h"
#include "sim/fabric/partition_turns.h"
