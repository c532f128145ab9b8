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

  // verilator lint_on UNUSEDPARAM
endpackage
