// SPDX-License-Identifier: Apache-2.0
// Messages of the semantic sublayer on both sides: what an initiator still has to send and hear, and what a
// target has received of a message that is not complete.
#pragma once

#include <array>
#include <cstdint>

#include "base/slot_pool.h"
#include "base/time.h"
#include "engine/contract.h"
#include "verbs/completion.h"
#include "verbs/work_request.h"
#include "wire/host_address.h"
#include "wire/uet_packet.h"

namespace wharf::uet {

enum class MessageKind : std::uint8_t {
  kRequest,         ///< A work request.
  kReadResponse,    ///< Read data on its way back to an initiator.
  kRendezvousRead,  ///< Fetches the remainder of a rendezvous send into a receive buffer.
  kRestartRequest,  ///< DEFERRABLE_RTR.
};

/// Where a message goes.
struct Destination {
  wire::HostAddress host;
  std::uint32_t job_id = 0;
  std::uint16_t pid_on_fep = 0;
  std::uint16_t resource_index = 0;
  std::uint8_t ri_generation = 0;
  bool relative = true;
};

/// message_id of an outbound message on the wire.
constexpr std::uint16_t message_id_of(std::uint32_t slot) { return static_cast<std::uint16_t>(slot + 1); }

/// A message that this engine sends.
struct alignas(64) OutboundMessage {
  // Arrays are filled in by the messages that have them: a new message costs no writing of them.
  OutboundMessage() {}  // NOLINT(modernize-use-equals-default,cppcoreguidelines-pro-type-member-init)

  // What every packet looks at: two lines.
  std::uint32_t send_length = 0;  ///< Bytes that travel with the message: 0 for reads.
  std::uint32_t sent = 0;         ///< Of send_length, cut into packets so far.
  std::uint32_t unanswered = 0;   ///< Packets without an answer.
  std::uint32_t pdc = kNoSlot;
  std::uint32_t next = kNoSlot;  ///< In the PDC's list of messages to send.
  wire::HostAddress host;        ///< Where it goes; `ses` says to whom there.
  std::uint16_t overhead = 0;    ///< Window bytes of a packet beside its payload,
  std::uint8_t ses_bytes = 0;    ///< and bytes of its SES header and extension.
  MessageKind kind = MessageKind::kRequest;
  wire::UetNextHeader form = wire::UetNextHeader::kRequestStandard;
  bool queued = false;    ///< On the PDC's list.
  bool all_sent = false;  ///< Every packet has a PSN.
  bool first_sent = false;
  bool needs_answer = false;  ///< The data comes on the ACK: being below CACK_PSN is no answer.
  // What keeps it from ending plainly, in one byte.
  bool expects_data : 1 = false;     ///< Read data comes back.
  bool stopped : 1 = false;          ///< Failed or deferred: no further packet is cut.
  bool deferred : 1 = false;         ///< The target dropped it and will ask for it.
  bool retry_wanted : 1 = false;     ///< Starts again once every packet has its answer.
  bool terminating : 1 = false;      ///< MSG_ERROR is its last packet.
  bool half_refused : 1 = false;     ///< A packet was refused, or was IE; others may have passed.
  bool initiator_error : 1 = false;  ///< Its own memory could not be read: IE.
  bool atomic_from_operand = false;  ///< The payload is `operand`, not memory.
  std::uint8_t width = 8;            ///< Atomics: bytes of the operand.
  std::uint8_t local_count = 0;
  verbs::CompletionStatus status = verbs::CompletionStatus::kSuccess;
  verbs::Delivery delivery = verbs::Delivery::kUnordered;
  verbs::Verb verb = verbs::Verb::kWrite;
  bool signaled = true;
  bool from_memory = false;  ///< Its payload is read from memory (Initiator::reads_memory).
  bool simple = false;       ///< One packet with the standard header, no extension, no restart.
  bool plain = false;        ///< One packet, whose payload is one piece of memory; nothing has befallen it.
  bool made_plain = false;   ///< Its members are those of a plain request: the next one sets few of them.
  verbs::AccessOrder read_order = verbs::AccessOrder::kRelaxed;  ///< Read responses.
  wire::UetAtomicOpcode atomic = wire::UetAtomicOpcode::kSum;
  wire::UetDatatype datatype = wire::UetDatatype::kUint64;
  std::uint32_t accesses = 0;  ///< Memory accesses under way that the end must wait for.
  std::uint32_t received = 0;  ///< Reads: bytes that have arrived.
  wire::OperationTag operation;
  /// Requests: the header of a packet that is all of it; others begin with it and differ (build_any()).
  /// Read responses: job, key and address of what is read, and the resource index of this end.
  wire::UetSesRequest ses;

  // What some packets look at.
  std::uint64_t id = 0;
  wire::Payload inline_data;
  std::array<std::uint64_t, 2> operand;        ///< Atomics.
  std::array<std::uint64_t, 2> compare;        ///< Atomics.
  std::array<std::uint64_t, 2> atomic_result;  ///< Atomics.
  std::uint32_t first_byte = 0;                ///< Deferrable: where the restarted message begins.
  std::uint32_t eager_length = 0;              ///< Rendezvous.
  std::uint32_t target_token = 0;   ///< Deferrable: the target's. Rendezvous reads: generation of `inbound`.
  std::uint32_t region = kNoSlot;   ///< Rendezvous: the temporary region, at both ends of its read.
  std::uint32_t inbound = kNoSlot;  ///< Rendezvous reads: the message they complete.
  wire::UetPsn answered_psn = 0;    ///< Read responses to small and medium requests: the request's.
  std::uint16_t answered_message_id = 0;  ///< Read responses: the request's.
  std::uint16_t attempts = 0;             ///< Restarts so far.

  // Whose it is.
  engine::QueueId queue = 0;
  verbs::PeerId peer = verbs::kNoPeer;  ///< Requests: kNoPeer once the queue has flushed and forgotten it.
  std::uint32_t generation = 0;         ///< Counts uses of the slot.
  std::uint64_t order = 0;              ///< Posting number in its queue: restarts keep the order.
  union {
    std::array<verbs::ScatterEntry, verbs::kMaxScatterEntries> local;  ///< The first `local_count` of them.
  };

  /// Whether its last answer ends it with success at once: it is on its way as a whole, waits for no data and
  /// nothing has befallen it.
  bool ends_plainly() const { return all_sent && accesses == 0 && is_untroubled() && region == kNoSlot; }
  /// Whether it waits for no data, and nothing has befallen it.
  bool is_untroubled() const { return !expects_data && is_unharmed(); }
  bool is_unharmed() const {
    return !stopped && !terminating && !initiator_error && !retry_wanted && !deferred &&
           status == verbs::CompletionStatus::kSuccess;
  }
  /// Something has befallen it: it ends the general way.
  void trouble() { plain = made_plain = false; }
};

static_assert(sizeof(OutboundMessage) == 320);

/// Whether messages of this mode travel over PDCs.
constexpr bool on_pdc(verbs::Delivery delivery) {
  return delivery == verbs::Delivery::kOrdered || delivery == verbs::Delivery::kUnordered;
}

/// A payload that waits for a receive buffer, or for the packet that says which.
struct HeldPacket {
  std::uint32_t next = kNoSlot;
  std::uint32_t offset = 0;
  wire::Payload payload;  ///< Of the pool: the engine has a reference.
};

/// A message of another host of which packets are missing, or which waits for a receive buffer.
struct InboundMessage {
  std::uint32_t next = kNoSlot;  ///< Neighbours in the list of its PDC.
  std::uint32_t previous = kNoSlot;
  std::uint32_t request_length = 0;
  std::uint32_t arrived = 0;        ///< Bytes of packets that were accepted.
  std::uint32_t accesses = 0;       ///< Writes under way.
  std::uint32_t pdc = kNoSlot;      ///< kNoSlot once it has left its PDC.
  std::uint32_t receive = kNoSlot;  ///< The receive entry that it fills.
  std::uint32_t endpoint = kNoSlot;
  std::uint32_t held = kNoSlot;  ///< List of HeldPacket.
  std::uint32_t held_tail = kNoSlot;
  std::uint32_t next_unexpected = kNoSlot;
  std::uint32_t generation = 0;
  std::uint16_t message_id = 0;
  bool two_sided = false;
  bool matched = false;     ///< `receive` is valid.
  bool first_seen = false;  ///< The SOM packet has come.
  bool complete = false;    ///< Every byte has arrived.
  // Seldom set.
  bool unexpected : 1 = false;  ///< On its endpoint's list of unexpected messages.
  bool abandoned : 1 = false;   ///< Its PDC failed.
  bool deferred : 1 = false;    ///< Dropped; its packets are absorbed.
  bool fetching : 1 = false;    ///< Rendezvous: the remainder is being read.
  bool terminated : 1 = false;  ///< MSG_ERROR came.
  wire::UetReturnCode failed = wire::UetReturnCode::kOk;
  std::uint32_t capacity = 0;  ///< Bytes of the receive buffer.
  wire::HostAddress source;
  wire::UetSesRequest request;  ///< Of the SOM packet, or of the first that came.
  wire::UetRendezvous rendezvous;
};

/// A packet of another host between its acceptance and its answer.
struct InboundPacket {
  std::uint32_t pdc = kNoSlot;  ///< kNoSlot: RUDI.
  std::uint32_t pdc_generation = 0;
  wire::UetPsn psn = 0;             ///< RUDI: pkt_id.
  std::uint32_t message = kNoSlot;  ///< Inbound message, or outbound one for returned data.
  std::uint32_t message_generation = 0;
  std::uint32_t payload_length = 0;
  std::uint32_t request_length = 0;
  std::uint32_t region = kNoSlot;
  std::uint32_t accesses = 0;  ///< Under way.
  std::uint32_t job_id = 0;
  wire::HostAddress source;
  std::uint16_t entropy = 0;
  std::uint16_t message_id = 0;
  std::uint16_t resource_index = 0;  ///< As the request has it.
  std::uint8_t ri_generation = 0;
  std::uint8_t pds_flags = 0;  ///< Of the prologue.
  bool marked = false;
  bool next_in_order = false;   ///< The lowest PSN that its PDC had not received.
  bool returned_data = false;   ///< Of a read response: acknowledged without SES header.
  bool small_form = false;      ///< Answered with the small data form.
  bool starts_message = false;  ///< The SOM packet of a two-sided message.
  bool overflow = false;        ///< Its message was kept without a receive.
  wire::UetOpcode opcode = wire::UetOpcode::kNoOp;
  wire::UetReturnCode result = wire::UetReturnCode::kOk;
  bool made_plain = false;  ///< Of a plain Write, whose access has not been answered: the next one sets few.
  TimePs arrived_at{};
  wire::OperationTag operation;
};

/// A response that is kept until the source clears it (guaranteed delivery).
struct StoredResponse {
  std::uint32_t next = kNoSlot;  ///< In the ring of its PDC's.
  wire::UetPsn psn = 0;
  wire::UetNextHeader form = wire::UetNextHeader::kResponse;
  wire::UetSesResponse response;
  wire::Payload data;              ///< Of the pool or of memory that outlives it.
  std::uint32_t region = kNoSlot;  ///< Rendezvous: the region whose remainder this is.
};

/// What a target keeps of a deferred send until it asks for it again.
struct DeferredSend {
  bool used = false;
  std::uint32_t generation = 0;
  std::uint32_t endpoint = kNoSlot;
  std::uint32_t initiator_token = 0;
  std::uint32_t receive = kNoSlot;  ///< Set once a receive was posted for it.
  std::uint32_t asks = kNoSlot;     ///< The outbound message that asked for it then.
  std::uint32_t next = kNoSlot;
  wire::HostAddress source;
  wire::UetSesRequest request;
};

}  // namespace wharf::uet
