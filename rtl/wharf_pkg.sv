// SPDX-License-Identifier: Apache-2.0
// The codes that travel between elements. One place, so that a top file and a driver read the same names.
package wharf_pkg;
  // verilator lint_off UNUSEDPARAM
  // (An element names only those that it needs.)

  // What became of a write to a reorder unit: ReorderedWrite of src/engine/ordering/reorder_unit.h.
  parameter logic [1:0] ReorderedTaken  = 2'd0;
  parameter logic [1:0] ReorderedStale  = 2'd1;
  parameter logic [1:0] ReorderedTooFar = 2'd2;
  parameter logic [1:0] ReorderedFailed = 2'd3;

  // Why a reorder unit stopped: ReorderFault of the same file.
  parameter logic [1:0] ReorderFaultNone     = 2'd0;
  parameter logic [1:0] ReorderFaultTooShort = 2'd1;
  parameter logic [1:0] ReorderFaultTooLong  = 2'd2;

  // Kinds and labels of requests of a remote load-store queue: Kind and Label of src/engine/ordering/request.h.
  parameter logic [1:0] RequestRead   = 2'd0;
  parameter logic [1:0] RequestWrite  = 2'd1;
  parameter logic [1:0] RequestAtomic = 2'd2;

  parameter logic [2:0] LabelStrong          = 3'd0;
  parameter logic [2:0] LabelRelaxedOrdering = 3'd1;
  parameter logic [2:0] LabelIdBased         = 3'd2;
  parameter logic [2:0] LabelRelaxed         = 3'd3;
  parameter logic [2:0] LabelAcquire         = 3'd4;
  parameter logic [2:0] LabelRelease         = 3'd5;
  parameter logic [2:0] LabelAscending       = 3'd6;
  parameter logic [2:0] LabelReadRelease     = 3'd7;

  // Designs of the queue: RlsqDesign of src/engine/ordering/rlsq_design.h.
  parameter int unsigned RlsqBaseline          = 0;
  parameter int unsigned RlsqReleaseAcquire    = 1;
  parameter int unsigned RlsqThreadSpecific    = 2;
  parameter int unsigned RlsqSpeculative       = 3;
  parameter int unsigned RlsqStrictBlocking    = 4;
  parameter int unsigned RlsqStrictSpeculative = 5;

  // What the queue asks of memory, and what a snoop found: MemoryOperation and SnoopResult of rlsq_port.h.
  parameter logic [1:0] MemoryRead        = 2'd0;
  parameter logic [1:0] MemoryReadTracked = 2'd1;
  parameter logic [1:0] MemoryOwn         = 2'd2;

  parameter logic [1:0] SnoopMiss     = 2'd0;
  parameter logic [1:0] SnoopHit      = 2'd1;
  parameter logic [1:0] SnoopSquashed = 2'd2;
  // What the headers of a Unified Bus packet say (profile P1, no entities): UbPacket of src/wire/ub_packet.h.
  typedef struct packed {
    // RTPH
    logic          last;
    logic [6:0]    tp_opcode;
    logic [23:0]   source_tpn;
    logic [23:0]   destination_tpn;
    logic          acknowledge_request;
    logic          flag;
    logic [23:0]   psn;
    logic [2:0]    tp_status;
    logic [4:0]    tp_info;
    logic [23:0]   tpmsn;
    // CETPH, SAETPH with up to 256 bits, CNPETPH
    logic [31:0]   acknowledged_bytes;
    logic          echo_location;
    logic          echo_increase;
    logic [7:0]    echo_packets;
    logic [15:0]   echo_hint;
    logic [23:0]   max_received;
    logic [2:0]    sack_size;
    logic [255:0]  sack_bitmap;
    logic [1:0]    notice_ecn;
    logic          notice_location;
    // BTAH or ATAH: `kind` says which, Ub*
    logic [1:0]    kind;
    logic [7:0]    opcode;
    logic [1:0]    environment;
    logic          token_present;
    logic          poison;
    logic          target_hint;
    logic [15:0]   tassn;
    logic          no_acknowledge;
    logic [2:0]    order;
    logic          target_present;
    logic          solicited;
    logic          retry;
    logic          allocate;
    logic          exclusive;
    logic [1:0]    requester_type;
    logic [19:0]   requester_id;
    logic          sequence_valid;
    logic [2:0]    status;
    logic [4:0]    info;
    // MAETAH, TVETAH, MTETAH; immediate, notify, invalidate, message or operands, from the highest bits on
    logic [63:0]   address;
    logic [19:0]   token_id;
    logic [31:0]   length;
    logic [31:0]   token_value;
    logic [7:0]    target_group_hint;
    logic [1:0]    target_type;
    logic [19:0]   target_id;
    logic [255:0]  block;
  } ub_headers_t;

  parameter logic [1:0] UbNone     = 2'd0;
  parameter logic [1:0] UbRequest  = 2'd1;
  parameter logic [1:0] UbResponse = 2'd2;

  // Why a packet is dropped: DropReason of src/wire/drop_reason.h; the last one: headers that the element does not read.
  parameter logic [3:0] DropNone                = 4'd0;
  parameter logic [3:0] DropTruncated           = 4'd1;
  parameter logic [3:0] DropBadTransportVersion = 4'd2;
  parameter logic [3:0] DropUnknownTransport    = 4'd3;
  parameter logic [3:0] DropUnknownNextHeader   = 4'd4;
  parameter logic [3:0] DropBadSackSize         = 4'd5;
  parameter logic [3:0] DropBadRequesterType    = 4'd6;
  parameter logic [3:0] DropUnsupportedHeader   = 4'd7;
  parameter logic [3:0] DropBadPadding          = 4'd8;
  parameter logic [3:0] DropBadPayloadLength    = 4'd9;
  parameter logic [3:0] DropNotHere             = 4'd10;

  // What an arriving packet number means to a receiver: Arrival of src/engine/reliability/receive_window.h.
  parameter logic [1:0] ArrivalNext      = 2'd0;
  parameter logic [1:0] ArrivalAhead     = 2'd1;
  parameter logic [1:0] ArrivalDuplicate = 2'd2;
  parameter logic [1:0] ArrivalTooFar    = 2'd3;

  // What a NIC is asked for in a doorbell.
  typedef struct packed {
    logic [3:0]   operation;       // Operation*
    logic         is_inline;       // Of a Write or Send of up to 16 bytes: they are in `data`.
    logic [1:0]   order;           // Order*
    logic         fence;           // It waits for earlier Reads and atomics of its jetty.
    logic [19:0]  target;          // The jetty that takes a Send, or the word of a Write with immediate.
    logic [63:0]  remote_address;
    logic [19:0]  token_id;
    logic [31:0]  token_value;     // Of the segment; of a Send, of the jetty: 0 is none.
    logic [31:0]  length;          // Bytes; of an atomic, 8.
    logic [63:0]  local_address;   // Where the data comes from, or the result goes to.
    logic [63:0]  immediate;       // Of operations with one.
    logic [127:0] data;            // From the highest byte on: inline data, or operands of 8 bytes, big-endian: of
                                   // compare-and-swap the new value, and what it compares.
    logic [31:0]  tag;             // Comes back in the completion.
  } nic_request_t;

  // Order tags of requests: OrderTag of src/verbs/work_request.h. 3 is reserved, and taken for none.
  parameter logic [1:0] OrderRelaxed = 2'd1;
  parameter logic [1:0] OrderStrong  = 2'd2;

  // The low bits of the opcodes, TaOpcode of src/wire/ub_opcode.h.
  parameter logic [3:0] OperationSend           = 4'd0;
  parameter logic [3:0] OperationSendImmediate  = 4'd1;
  parameter logic [3:0] OperationWrite          = 4'd3;
  parameter logic [3:0] OperationWriteImmediate = 4'd4;
  parameter logic [3:0] OperationRead           = 4'd6;
  parameter logic [3:0] OperationCompareSwap    = 4'd7;   // The first atomic,
  parameter logic [3:0] OperationSwap           = 4'd8;
  parameter logic [3:0] OperationAtomicStore    = 4'd9;
  parameter logic [3:0] OperationAtomicLoad     = 4'd10;
  parameter logic [3:0] OperationFetchAdd       = 4'd11;
  parameter logic [3:0] OperationFetchSub       = 4'd12;
  parameter logic [3:0] OperationFetchAnd       = 4'd13;
  parameter logic [3:0] OperationFetchOr        = 4'd14;
  parameter logic [3:0] OperationFetchXor       = 4'd15;  // and the last.

  // A receive that waits for a Send, or for the word of a Write with immediate.
  typedef struct packed {
    logic [63:0] address;
    logic [31:0] capacity;  // Bytes there.
    logic [31:0] tag;       // Comes back in the completion.
  } nic_receive_t;

  // What became of a message that wanted a receive.
  parameter logic [1:0] TakenEntry      = 2'd0;
  parameter logic [1:0] TakenNoJetty    = 2'd1;  // There is none, or it is not open.
  parameter logic [1:0] TakenWrongToken = 2'd2;
  parameter logic [1:0] TakenNone       = 2'd3;  // No receive waits.

  // Packets to be made: a request or a response with its data, of any length.
  typedef struct packed {
    logic [1:0]   kind;            // UbRequest or UbResponse.
    logic [7:0]   opcode;
    logic [19:0]  requester_id;
    logic [15:0]  tassn;
    logic [2:0]   status;          // Of a response.
    logic [4:0]   info;
    logic [63:0]  remote_address;  // Of a request.
    logic [19:0]  token_id;
    logic [31:0]  token_value;
    logic [1:0]   order;
    logic         retry;           // It has been sent before, and refused for a while.
    logic [19:0]  target;
    logic [63:0]  immediate;
    logic [31:0]  length;          // Of the access.
    logic         has_data;        // It carries that many bytes,
    logic         is_inline;       // which are in `data`,
    logic [63:0]  address;         // or in memory from here on.
    logic [127:0] data;
  } ub_job_t;

  // What is wrong with a response of this side's request, whatever the peer says; the first mistake counts.
  parameter logic [1:0] WrongNothing = 2'd0;
  parameter logic [1:0] WrongPoison  = 2'd1;
  parameter logic [1:0] WrongLength  = 2'd2;

  // A request that waits for its response: Transaction of src/engine/ub/initiator.h.
  typedef struct packed {
    logic [2:0]   not_ready;       // How often it was asked again because the peer was not ready,
    logic [4:0]   page_faults;     // or a page was missing there.
    logic [31:0]  got;             // Of a Read: bytes that have come.
    logic [1:0]   wrong;           // Wrong*, so far.
    logic [2:0]   status;          // The first answer that was not good: StatusSuccess while all were,
    logic [4:0]   info;
    nic_request_t request;
  } nic_transaction_t;

  // Where the other side is, and who this side is, in an IP network.
  typedef struct packed {
    logic [47:0] own_mac;
    logic [47:0] peer_mac;
    logic [31:0] own_ip;
    logic [31:0] peer_ip;
    logic [15:0] source_port;      // Of UDP.
  } nic_route_t;

  // The same with the channel of the Unified Bus.
  typedef struct packed {
    nic_route_t  network;
    logic [23:0] own_tpn;
    logic [23:0] peer_tpn;
  } ub_route_t;

  // A registered segment: MrRecord of src/engine/ub/context_records.h.
  typedef struct packed {
    logic        checks_value;
    logic        may_read;
    logic        may_write;
    logic        may_atomic;
    logic [31:0] token_value;
    logic [63:0] base;
    logic [47:0] size;
  } ub_segment_t;

  parameter logic [1:0] RightRead   = 2'd0;
  parameter logic [1:0] RightWrite  = 2'd1;
  parameter logic [1:0] RightAtomic = 2'd2;

  // What a check of access found: Grant of src/engine/ub/segment_table.h.
  parameter logic [2:0] GrantGranted      = 3'd0;
  parameter logic [2:0] GrantUnknownToken = 3'd1;
  parameter logic [2:0] GrantWrongValue   = 3'd2;
  parameter logic [2:0] GrantNoRight      = 3'd3;
  parameter logic [2:0] GrantOutOfRange   = 3'd4;

  // Opcodes of transactions, status and information of responses: TaOpcode, UbResponseStatus and UbResponseInfo of
  // src/wire/ub_opcode.h.
  parameter logic [7:0] TaSend           = 8'h00;
  parameter logic [7:0] TaSendImmediate  = 8'h01;
  parameter logic [7:0] TaWrite          = 8'h03;
  parameter logic [7:0] TaWriteImmediate = 8'h04;
  parameter logic [7:0] TaRead           = 8'h06;
  parameter logic [7:0] TaAcknowledge    = 8'h11;
  parameter logic [7:0] TaReadResponse   = 8'h12;
  parameter logic [7:0] TaAtomicResponse = 8'h13;

  parameter logic [2:0] StatusSuccess   = 3'd0;
  parameter logic [2:0] StatusNotReady  = 3'd1;
  parameter logic [2:0] StatusPageFault = 3'd2;
  parameter logic [2:0] StatusError     = 3'd3;

  parameter logic [4:0] InfoNone              = 5'd0;
  parameter logic [4:0] InfoUnsupportedOpcode = 5'd1;
  parameter logic [4:0] InfoAccess            = 5'd2;
  parameter logic [4:0] InfoLength            = 5'd3;
  parameter logic [4:0] InfoJettyState        = 5'd4;
  parameter logic [4:0] InfoPoison            = 5'd5;

  // How a request ended: the numbers of the completion records of URMA.
  parameter logic [7:0] CompletionSuccess        = 8'd0;
  parameter logic [7:0] CompletionLocalLength    = 8'd2;
  parameter logic [7:0] CompletionLocalAccess    = 8'd4;
  parameter logic [7:0] CompletionResponseLength = 8'd5;
  parameter logic [7:0] CompletionUnsupported    = 8'd6;
  parameter logic [7:0] CompletionRemoteError    = 8'd7;
  parameter logic [7:0] CompletionRemoteAccess   = 8'd8;
  parameter logic [7:0] CompletionNotReady       = 8'd10;
  parameter logic [7:0] CompletionRemotePoison   = 8'd16;

  typedef struct packed {
    logic [31:0] tag;
    logic [19:0] jetty;
    logic [7:0]  status;           // Completion*
    logic [3:0]  operation;
    logic [31:0] length;           // Bytes moved.
    logic        is_receive;       // Of a receive, not of a request.
    logic        has_immediate;
    logic [63:0] immediate;
    logic [19:0] remote_jetty;     // Of a receive: whose request it was.
  } nic_completion_t;

  // A line of 64 bytes of memory that is read or written: byte 0 highest, one enable a byte.
  typedef struct packed {
    logic         is_write;
    logic         tag;             // Comes back with what was read.
    logic [57:0]  line;            // Address, without the six lowest bits.
    logic [511:0] data;
    logic [63:0]  enable;          // Bit 63 is byte 0.
  } memory_request_t;

  // What a NIC counts.
  typedef struct packed {
    logic [31:0] responses_forgotten;   // To requests whose jetty has been opened anew.
    logic [31:0] doorbells_refused;     // No such jetty, a full queue, or a request that is none.
    logic [31:0] frames_foreign;        // For somebody else, of another protocol, or bad.
    logic [31:0] frames_without_room;
    logic [31:0] packets_malformed;     // Dropped by the codec, foreign frames among them; or one that contradicts its message.
    logic [31:0] packets_unknown;       // Of another channel, or of a kind that is not taken.
    logic [31:0] packets_duplicate;
    logic [31:0] packets_ahead;         // Out of order: Go-Back-N takes none of them.
    logic [31:0] packets_deferred;      // Requests without room for their responses: to be sent again.
    logic [31:0] dropped_acknowledgement;  // Of what was never sent, or with a status of none.
    logic [31:0] requests_refused;      // Without access, or not supported.
    logic [31:0] dropped_response;      // To none that was sent, or to none that still waits for one.
    logic [31:0] went_back;             // By a time-out or a negative acknowledgement.
    logic [31:0] completions_lost;      // The ring in memory was full.
    logic [31:0] receives_refused;      // Posted to no jetty, or to a full queue.
    logic [31:0] not_ready_sent;        // Messages that found no receive.
    logic [31:0] not_ready_received;    // Requests that are asked again, for that or for a page that was missing.
  } nic_counters_t;

  // Opcodes of the reliable connection of RoCEv2: RoceOpcode of src/wire/roce_opcode.h.
  parameter logic [7:0] RoceSendFirst          = 8'h00;
  parameter logic [7:0] RoceSendMiddle         = 8'h01;
  parameter logic [7:0] RoceSendLast           = 8'h02;
  parameter logic [7:0] RoceSendLastImmediate  = 8'h03;
  parameter logic [7:0] RoceSendOnly           = 8'h04;
  parameter logic [7:0] RoceSendOnlyImmediate  = 8'h05;
  parameter logic [7:0] RoceWriteFirst         = 8'h06;
  parameter logic [7:0] RoceWriteMiddle        = 8'h07;
  parameter logic [7:0] RoceWriteLast          = 8'h08;
  parameter logic [7:0] RoceWriteLastImmediate = 8'h09;
  parameter logic [7:0] RoceWriteOnly          = 8'h0a;
  parameter logic [7:0] RoceWriteOnlyImmediate = 8'h0b;
  parameter logic [7:0] RoceReadRequest        = 8'h0c;
  parameter logic [7:0] RoceReadFirst          = 8'h0d;
  parameter logic [7:0] RoceReadMiddle         = 8'h0e;
  parameter logic [7:0] RoceReadLast           = 8'h0f;
  parameter logic [7:0] RoceReadOnly           = 8'h10;
  parameter logic [7:0] RoceAcknowledge        = 8'h11;
  parameter logic [7:0] RoceAtomicAcknowledge  = 8'h12;
  parameter logic [7:0] RoceCompareSwap        = 8'h13;
  parameter logic [7:0] RoceFetchAdd           = 8'h14;
  parameter logic [7:0] RoceNotification       = 8'h81;

  // Syndromes of an AETH, and the class in their bits 6:5: AethClass and NakCode of src/wire/roce_extension.h.
  parameter logic [7:0] SyndromeAck            = 8'h1f;
  parameter logic [7:0] SyndromeSequence       = 8'h60;
  parameter logic [7:0] SyndromeInvalid        = 8'h61;
  parameter logic [7:0] SyndromeRemoteAccess   = 8'h62;

  parameter logic [1:0] AethAck                = 2'd0;
  parameter logic [1:0] AethNotReady           = 2'd1;
  parameter logic [1:0] AethReserved           = 2'd2;
  parameter logic [1:0] AethNak                = 2'd3;

  // What the headers of a RoCEv2 packet say: RocePacket of src/wire/roce_packet.h. What the opcode has not is anything.
  typedef struct packed {
    logic [7:0]  opcode;
    logic [15:0] partition;
    logic [23:0] destination;      // Queue pair.
    logic        acknowledge;      // It asks for an acknowledgement.
    logic [23:0] psn;
    logic [63:0] address;          // RETH and AtomicETH
    logic [31:0] key;
    logic [31:0] length;           // RETH: of the whole message.
    logic [63:0] operand;          // AtomicETH: what is swapped in or added,
    logic [63:0] compare;
    logic [31:0] immediate;
    logic [7:0]  syndrome;         // AETH
    logic [23:0] msn;
  } roce_headers_t;

  // Why a packet goes no further than its headers.
  parameter logic [2:0] RoceGood          = 3'd0;
  parameter logic [2:0] RoceForeign       = 3'd1;  // Malformed, or not for this side.
  parameter logic [2:0] RoceUnknownOpcode = 3'd2;
  parameter logic [2:0] RoceBadVersion    = 3'd3;
  parameter logic [2:0] RoceOtherService  = 3'd4;  // Of an unreliable connection or datagrams.
  parameter logic [2:0] RoceCongestion    = 3'd5;  // A congestion notification, which nothing here heeds.

  // A packet to be made.
  typedef struct packed {
    logic [7:0]   opcode;
    logic [23:0]  destination;     // The peer's queue pair.
    logic         acknowledge;
    logic [23:0]  psn;
    logic [1:0]   urgency;         // Urgency*
    logic [63:0]  remote_address;  // RETH and AtomicETH
    logic [31:0]  key;
    logic [31:0]  length;          // RETH
    logic [31:0]  immediate;
    logic [7:0]   syndrome;        // AETH
    logic [23:0]  msn;
    logic [15:0]  bytes;           // Of data in this packet,
    logic         is_inline;       // which are in `data`,
    logic [63:0]  address;         // or in memory from here on.
    logic [127:0] data;            // Or operands of 8 bytes: swap or add, and compare; or what an atomic has found.
  } roce_job_t;

  // Traffic classes: TrafficClass of src/wire/packet.h, by their DSCP (src/wire/traffic_class.h).
  parameter logic [1:0] UrgencyData           = 2'd0;
  parameter logic [1:0] UrgencyRepeated       = 2'd1;
  parameter logic [1:0] UrgencyAcknowledgement = 2'd2;

  // What a responder owes the peer.
  typedef struct packed {
    logic [1:0]  kind;             // Answer*
    logic [23:0] destination;      // The peer's queue pair.
    logic [23:0] psn;
    logic [23:0] msn;
    logic [7:0]  syndrome;
    logic [63:0] address;          // Of a Read, in memory; of an atomic, what it has found.
    logic [31:0] length;           // Of a Read.
  } roce_answer_t;

  parameter logic [1:0] AnswerAcknowledge = 2'd0;  // May yet say more, until something else stands behind it.
  parameter logic [1:0] AnswerNak         = 2'd1;
  parameter logic [1:0] AnswerRead        = 2'd2;
  parameter logic [1:0] AnswerAtomic      = 2'd3;

  // An answer that has come: what the requester wants to know of it.
  typedef struct packed {
    logic [7:0]  opcode;
    logic [23:0] psn;
    logic [7:0]  syndrome;
    logic [15:0] bytes;            // Of data.
  } roce_heard_t;

  // The requesting side of a queue pair. Numbers are PSNs: [head_first, highest) are those of requests that have begun, and
  // of these all before `unacked` are answered.
  typedef struct packed {
    logic [23:0] remote;           // The peer's queue pair.
    logic [23:0] head_first;       // The first one of the oldest request.
    logic [23:0] next;             // Of the next packet that leaves: before `highest` while something is sent again.
    logic [23:0] unacked;
    logic [23:0] highest;
    // Differences of these, so that nobody has to subtract before he can decide.
    logic [23:0] index;            // Of `next` from the first one of the request whose turn it is to be sent.
    logic [23:0] covered;          // Of `unacked` from `head_first`.
    logic [23:0] outstanding;      // Of `next` from `unacked`.
    logic [7:0]  fetches;          // Reads and atomics that are not answered.
    logic [2:0]  retries;          // Left.
    logic [2:0]  not_ready;        // Retries of a peer that is not ready, left.
    logic        recovering;       // It has gone back for `recovery`, and hears no more of that.
    logic [23:0] recovery;
    logic [1:0]  timer;            // Timer*
    logic [23:0] deadline;         // In ticks.
  } roce_sender_t;

  parameter logic [1:0] TimerOff      = 2'd0;
  parameter logic [1:0] TimerAnswer   = 2'd1;  // An answer is awaited.
  parameter logic [1:0] TimerNotReady = 2'd2;  // The peer was not ready: nothing is sent.

  // The responding side of a queue pair.
  typedef struct packed {
    logic [23:0]  remote;
    logic [23:0]  expected;        // PSN
    logic [23:0]  msn;
    logic         nak_sent;        // The gap before `expected` has had its NAK.
    logic [1:0]   message;         // Message*: what has begun and not ended.
    logic [31:0]  key;             // Of a Write that has begun,
    logic [63:0]  address;         // where its next byte goes,
    logic [31:0]  length;          // and all its bytes.
    logic [31:0]  received;        // Bytes of the message that have come.
    nic_receive_t receive;         // Of a Send.
    logic [7:0]   saved;           // Reads and atomics that are saved,
    logic [7:0]   next_saved;      // and where the next one is.
  } roce_responder_t;

  parameter logic [1:0] MessageNone  = 2'd0;
  parameter logic [1:0] MessageSend  = 2'd1;
  parameter logic [1:0] MessageWrite = 2'd2;

  // A Read or an atomic that the peer may ask for again.
  typedef struct packed {
    logic        is_atomic;
    logic [23:0] first;            // PSN
    logic [23:0] packets;
    logic [63:0] address;          // Of an atomic, what it has found.
    logic [31:0] length;
    logic [31:0] key;
  } roce_saved_t;

  // How a request of RoCE ended, beside those above.
  parameter logic [7:0] CompletionRetryExhausted = 8'd9;
  parameter logic [7:0] CompletionFlushed        = 8'd11;

  // What a RoCE NIC counts: Counters of src/engine/roce/counters.h, and what only hardware has.
  typedef struct packed {
    logic [31:0] packets_sent;
    logic [31:0] packets_received;
    logic [31:0] requests_resent;
    logic [31:0] acknowledgements_sent;
    logic [31:0] acknowledgements_merged;
    logic [31:0] naks_sent;
    logic [31:0] rnr_naks_sent;
    logic [31:0] timeouts;
    logic [31:0] sequence_naks_received;
    logic [31:0] implied_naks;
    logic [31:0] rnr_naks_received;
    logic [31:0] retries_exhausted;
    logic [31:0] duplicate_requests;
    logic [31:0] congestion_notifications;
    logic [31:0] dropped_foreign;
    logic [31:0] dropped_unknown_opcode;
    logic [31:0] dropped_version;
    logic [31:0] dropped_unknown_queue;
    logic [31:0] dropped_not_ready;
    logic [31:0] dropped_partition;
    logic [31:0] dropped_out_of_order;
    logic [31:0] dropped_stale_response;
    logic [31:0] dropped_duplicate;
    logic [31:0] dropped_no_resources;
    logic [31:0] dropped_service;
    logic [31:0] frames_without_room;
    logic [31:0] completions_lost;      // The ring in memory was full.
    logic [31:0] doorbells_refused;     // No such queue pair, a full queue, or a request that is none.
    logic [31:0] receives_refused;      // Posted to no queue pair, or to a full queue.
  } roce_counters_t;

  // Bits of these structures, for elements that only carry them (Yosys does not ask a type for its bits).
  parameter int unsigned NicRequestW     = 464;
  parameter int unsigned NicTransactionW = 514;
  parameter int unsigned NicCounterCount = 17;
  parameter int unsigned UbJobW          = 483;
  parameter int unsigned NicReceiveW     = 128;
  parameter int unsigned UbSegmentW      = 148;
  parameter int unsigned MemoryRequestW  = 636;
  parameter int unsigned NicCompletionW  = 182;
  parameter int unsigned RoceJobW        = 460;
  parameter int unsigned RoceAnswerW     = 178;
  parameter int unsigned RoceSenderW     = 257;
  parameter int unsigned RoceResponderW  = 379;
  parameter int unsigned RoceSavedW      = 177;
  parameter int unsigned RoceCounterCount = 29;

  // verilator lint_on UNUSEDPARAM
endpackage
