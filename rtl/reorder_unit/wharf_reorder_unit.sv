// SPDX-License-Identifier: Apache-2.0
// Finds complete messages of one queue in writes that arrive in any order, by address alone. Reference:
// src/engine/ordering/reorder_unit.h. Source: "Stop Taking the Scenic Route" (HotOS '25), 3.1 to 3.4.
// Description: README.md.
//
//            start          front                        start + BufferBytes
//              |  all here    |   some bytes are here      |
//   ...stale...|==============|==--==------=---------------|...too far...
//              [ length field at LengthOffset ]
module wharf_reorder_unit #(
  parameter int unsigned LineBytes    = 64,      // Most bytes of one write; a power of two from 2.
  parameter int unsigned BufferBytes  = 512,     // How far writes change places, and the longest message; from 2 lines.
  parameter int unsigned WindowBytes  = 262144,  // Addresses of the queue; a power of two, 4 * BufferBytes or more.
  parameter int unsigned LengthOffset = 0,       // Where a message holds its length,
  parameter int unsigned LengthBytes  = 2,       // in how many bytes (1 to 4), the least significant first.
  parameter int unsigned Alignment    = 1,       // Messages start at multiples of this; a power of two up to LineBytes.
  parameter int unsigned ZeroSkips    = 0,       // 1: length 0 says nothing more in this line. 0: it is a fault.
  parameter int unsigned Continuation = 0        // 1: the length's highest bit: the next message continues this one.
) (
  input  logic                                     clk_i,
  input  logic                                     rst_i,

  // Writes, within a line each.
  input  logic                                     write_valid_i,
  output logic                                     write_ready_o,
  input  logic [$clog2(WindowBytes/LineBytes)-1:0] write_line_i,
  input  logic [LineBytes-1:0]                     write_enabled_i,
  input  logic [8*LineBytes-1:0]                   write_data_i,

  // What became of the write of the cycle before: wharf_pkg::Reordered*.
  output logic                                     result_valid_o,
  output logic [1:0]                               result_o,
  output logic [31:0]                              too_far_o,  // How many writes were dropped as too far.

  // To the memory of the NIC, which always takes it: the bytes of the write that belong to messages to come.
  output logic                                     store_valid_o,
  output logic [$clog2(WindowBytes/LineBytes)-1:0] store_line_o,
  output logic [LineBytes-1:0]                     store_enabled_o,
  output logic [8*LineBytes-1:0]                   store_data_o,

  // Complete messages, each once, in the order of their addresses.
  output logic                                     message_valid_o,
  input  logic                                     message_ready_i,
  output logic [$clog2(WindowBytes)-1:0]           message_offset_o,
  output logic [$clog2(BufferBytes):0]             message_length_o,
  output logic                                     message_continued_o,

  output logic [$clog2(WindowBytes)-1:0]           start_o,   // Of the oldest message that has not been handed on.
  output logic [1:0]                               fault_o    // wharf_pkg::ReorderFault*; stays until the reset.
);
  localparam int unsigned AddrW   = $clog2(WindowBytes);
  localparam int unsigned LaneW   = $clog2(LineBytes);
  localparam int unsigned Lines   = BufferBytes / LineBytes;
  localparam int unsigned LineW   = $clog2(Lines);              // Of a line in the buffer.
  localparam int unsigned WinLineW = AddrW - LaneW;             // Of a line in the window.
  localparam int unsigned LenW    = $clog2(BufferBytes) + 1;
  localparam int unsigned FieldW  = 8 * LengthBytes;
  localparam int unsigned AlignW  = $clog2(Alignment);
  // Lines ahead from which a write is taken for a late copy: the farther half of what the window has beyond the buffer.
  localparam int unsigned StaleLines = (WindowBytes + BufferBytes) / 2 / LineBytes;

  if (LineBytes < 2 || (LineBytes & (LineBytes - 1)) != 0 || (BufferBytes & (BufferBytes - 1)) != 0 ||
      BufferBytes < 2 * LineBytes) begin : gen_refuse_buffer
    $error("wharf_reorder_unit: LineBytes and BufferBytes must be powers of two, the buffer two lines or more");
  end
  if ((WindowBytes & (WindowBytes - 1)) != 0 || WindowBytes < 4 * BufferBytes) begin : gen_refuse_window
    $error("wharf_reorder_unit: WindowBytes must be a power of two from 4 * BufferBytes");
  end
  if (LengthBytes < 1 || LengthBytes > 4 || LengthBytes > LineBytes || LengthOffset + LengthBytes > BufferBytes ||
      Alignment < 1 || (Alignment & (Alignment - 1)) != 0 || Alignment > LineBytes) begin : gen_refuse_layout
    $error("wharf_reorder_unit: the length field must lie in the buffer, Alignment be a power of two up to LineBytes");
  end

  // Sweep: clears the valid bits after a reset, a line a cycle. Run: works. Failed: a length said the impossible.
  localparam logic [1:0] Sweep  = 2'd0;
  localparam logic [1:0] Run    = 2'd1;
  localparam logic [1:0] Failed = 2'd2;

  logic [1:0]       state_q;
  logic [AddrW-1:0] start_q;  // Of the oldest message.
  logic [AddrW-1:0] front_q;  // Every byte from start to here has arrived. Its line is the one that is looked at.

  // Bytes from start to front. Negative when padding was skipped: then front is behind start, in its line or at its end.
  logic [LenW:0]    arrived;
  logic             lag;
  assign arrived = front_q[LenW:0] - start_q[LenW:0];
  assign lag     = arrived[LenW];

  // ---------------------------------------------------------------- What a write means

  logic [WinLineW-1:0]  lines_ahead;
  logic [LineBytes-1:0] from_start, fresh;
  logic                 some_below, some_above, is_fresh, far, too_far, write_take, quiet_q;

  assign lines_ahead = write_line_i - start_q[AddrW-1:LaneW];
  // Bytes of a line at and above the start's place in it.
  assign from_start  = {LineBytes{1'b1}} << start_q[LaneW-1:0];
  assign some_below  = (write_enabled_i & ~from_start) != '0;
  assign some_above  = (write_enabled_i & from_start) != '0;

  always_comb begin
    fresh    = '0;
    is_fresh = 1'b0;
    far      = 1'b0;
    if (lines_ahead == '0) begin
      fresh    = from_start;
      is_fresh = some_above;
    end else if (lines_ahead < WinLineW'(Lines)) begin
      fresh    = '1;
      is_fresh = some_below || some_above;
    end else if (lines_ahead == WinLineW'(Lines)) begin
      fresh    = ~from_start;
      is_fresh = some_below;
      far      = some_above;
    end else if (lines_ahead < WinLineW'(StaleLines)) begin
      far = some_below || some_above;
    end else if (lines_ahead == WinLineW'(StaleLines)) begin
      far = some_below;
    end
  end

  // Too far is an error only when nothing inside can make room any more.
  assign too_far       = state_q == Run && far;
  assign write_ready_o = state_q != Sweep && (!too_far || quiet_q);
  assign write_take    = write_valid_i && write_ready_o && state_q == Run && !too_far;

  // A cycle later the bytes go to their lanes, as they go to the memory of the NIC. Start may have moved over some of them;
  // those between start and front have arrived already: a copy changes their value, and sets no valid bit.
  function automatic logic [LineBytes-1:0] from(input logic [WinLineW-1:0] ahead, input logic [LaneW-1:0] place);
    from = ahead == '0 ? {LineBytes{1'b1}} << place : {LineBytes{!ahead[WinLineW-1]}};
  endfunction
  logic [LineBytes-1:0] late, keep, set;
  assign late = store_valid_o ? store_enabled_o : '0;
  assign keep = late & from(store_line_o - start_q[AddrW-1:LaneW], start_q[LaneW-1:0]);
  assign set  = keep & from(store_line_o - front_q[AddrW-1:LaneW], front_q[LaneW-1:0]);

  // ---------------------------------------------------------------- Byte lanes

  logic [LineBytes-1:0]   scan_valid;  // Of the line of front.
  logic [LineBytes-1:0]   pass;        // Bytes of that line whose valid bits are no longer needed.
  logic [8*LineBytes-1:0] field_data;
  logic [LineBytes-1:0]   field_valid;
  logic [LaneW+LineW-1:0] field_q;     // The place of the length field in the buffer: LengthOffset behind start.
  logic [LineW-1:0]       write_line, scan_line;  // In the buffer.
  assign write_line = state_q == Sweep ? scan_line : store_line_o[LineW-1:0];
  assign scan_line  = front_q[LaneW +: LineW];

  for (genvar i = 0; i < LineBytes; i++) begin : gen_lane
    // The byte of the field in this lane lies in the next line. Only in the first lanes can that be.
    logic wraps;
    assign wraps = i + 1 < LengthBytes && field_q[LaneW-1:0] > LaneW'(i);
    wharf_reorder_lane #(.Lines(Lines)) lane (
      .clk_i,
      .clear_i(state_q == Sweep),
      .write_line_i(write_line),
      .store_i(keep[i]),
      .set_i(set[i]),
      .data_i(store_data_o[8*i +: 8]),
      .scan_line_i(scan_line),
      .pass_i(pass[i]),
      .scan_valid_o(scan_valid[i]),
      .field_line_i(field_q[LaneW +: LineW] + LineW'(wraps)),
      .field_valid_o(field_valid[i]),
      .field_data_o(field_data[8*i +: 8])
    );
  end

  // ---------------------------------------------------------------- How far everything has arrived

  // From front's place upward: what is missing, and which bytes lie at or above the first one that is.
  logic [LineBytes-1:0] missing, at_gap, first;
  logic [LaneW-1:0]     gap;
  assign missing = ~scan_valid & ({LineBytes{1'b1}} << front_q[LaneW-1:0]);
  assign first   = at_gap & ~(at_gap << 1);
  always_comb begin
    at_gap = missing;
    for (int unsigned k = 1; k < LineBytes; k = 2 * k) at_gap = at_gap | (at_gap << k);
    gap = '0;
    for (int unsigned i = 0; i < LineBytes; i++) gap = gap | (LaneW'(i) & {LaneW{first[i]}});
  end

  logic [AddrW-1:0]    front_d;
  logic [WinLineW-1:0] next_line;
  assign next_line = front_q[AddrW-1:LaneW] + 1'b1;
  always_comb begin
    front_d = {at_gap[LineBytes-1] ? front_q[AddrW-1:LaneW] : next_line, gap};
    pass    = ~at_gap;
    if (state_q == Sweep) begin
      front_d = {next_line, LaneW'(0)};
    end else if (lag) begin
      front_d = start_q;
      pass    = start_q[AddrW-1:LaneW] == front_q[AddrW-1:LaneW] ? ~from_start : '1;
    end
    // What lies below front has been passed before, or belongs to the line one lap later.
    pass = pass & ({LineBytes{1'b1}} << front_q[LaneW-1:0]);
  end

  // ---------------------------------------------------------------- The oldest message

  logic [FieldW-1:0]      field_value;
  logic [LengthBytes-1:0] field_here;

  // The lanes as they lie from byte j of the field on: no sum stands before the choice.
  for (genvar j = 0; j < LengthBytes; j++) begin : gen_field
    logic [8*LineBytes-1:0] data_from;
    logic [LineBytes-1:0]   valid_from;
    assign data_from  = (field_data >> (8 * j)) | (field_data << (8 * (LineBytes - j)));
    assign valid_from = (field_valid >> j) | (field_valid << (LineBytes - j));
    assign field_value[8*j +: 8] = data_from[8*field_q[LaneW-1:0] +: 8];
    assign field_here[j] = arrived > (LenW + 1)'(LengthOffset + j) || valid_from[field_q[LaneW-1:0]];
  end

  logic              continued, length_known, too_short, too_long, zero, complete;
  logic [FieldW-1:0] length;
  assign continued    = Continuation != 0 && field_value[FieldW-1];
  assign length       = Continuation != 0 ? field_value & ~(FieldW'(1) << (FieldW - 1)) : field_value;
  assign length_known = state_q == Run && !lag && (&field_here);
  assign zero         = ZeroSkips != 0 && length == '0;
  assign too_short    = !zero && 32'(length) < 32'(LengthOffset + LengthBytes);
  assign too_long     = 32'(length) > 32'(BufferBytes);
  // Of a length that is not too long.
  assign complete     = arrived[LenW-1:0] >= LenW'(length);

  logic skip, fail, finished, release_message;
  assign skip            = length_known && zero;
  assign fail            = length_known && (too_short || too_long);
  assign finished        = length_known && !zero && !fail && complete;
  assign release_message = finished && (!message_valid_o || message_ready_i);

  // The next message starts at a multiple of the alignment, as this one does. What lies above the sum is its old value or
  // the one behind that, so that no sum is longer than a length.
  localparam int unsigned StepW = LenW - AlignW;
  logic [StepW:0]         step, low_sum;
  logic [AddrW-LenW-1:0]  high;
  logic [AddrW-1:0]       end_d, start_d;
  logic [LaneW+LineW-1:0] field_d;
  assign step    = (StepW + 1)'(length[LenW-1:AlignW]) + (StepW + 1)'((length & FieldW'(Alignment - 1)) != '0);
  assign low_sum = (StepW + 1)'(start_q[LenW-1:AlignW]) + step;
  assign high    = low_sum[StepW] ? start_q[AddrW-1:LenW] + 1'b1 : start_q[AddrW-1:LenW];
  assign end_d   = AddrW'({high, low_sum[StepW-1:0]}) << AlignW;
  always_comb begin
    start_d = start_q;
    field_d = field_q;
    if (skip) begin
      start_d = {start_q[AddrW-1:LaneW] + 1'b1, LaneW'(0)};
      field_d = {start_q[LaneW +: LineW] + LineW'(LengthOffset / LineBytes + 1), LaneW'(LengthOffset)};
    end else if (release_message) begin
      start_d = end_d;
      field_d = field_q + ((LaneW + LineW)'(step) << AlignW);
    end
  end

  // ---------------------------------------------------------------- State

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q         <= Sweep;
      start_q         <= '0;
      front_q         <= '0;
      field_q         <= (LaneW + LineW)'(LengthOffset);
      quiet_q         <= 1'b0;
      message_valid_o <= 1'b0;
      result_valid_o  <= 1'b0;
      store_valid_o   <= 1'b0;
      too_far_o       <= '0;
      fault_o         <= wharf_pkg::ReorderFaultNone;
    end else begin
      front_q <= front_d;
      start_q <= start_d;
      field_q <= field_d;
      quiet_q <= !lag && !scan_valid[front_q[LaneW-1:0]] && !skip && !finished && !write_take && !store_valid_o;
      if (state_q == Sweep && front_q[LaneW +: LineW] == LineW'(Lines - 1)) begin
        state_q <= Run;
        front_q <= '0;
      end
      if (fail) begin
        state_q <= Failed;
        fault_o <= too_long ? wharf_pkg::ReorderFaultTooLong : wharf_pkg::ReorderFaultTooShort;
      end
      if (!message_valid_o || message_ready_i) message_valid_o <= finished;
      result_valid_o <= write_valid_i && write_ready_o;
      store_valid_o  <= write_take && is_fresh;
      if (write_valid_i && write_ready_o && too_far) too_far_o <= too_far_o + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (release_message) begin
      message_offset_o    <= start_q;
      message_length_o    <= LenW'(length);
      message_continued_o <= continued;
    end
    store_line_o    <= write_line_i;
    store_enabled_o <= write_enabled_i & fresh;
    store_data_o    <= write_data_i;
    if (state_q == Failed) result_o <= wharf_pkg::ReorderedFailed;
    else if (too_far) result_o <= wharf_pkg::ReorderedTooFar;
    else result_o <= is_fresh ? wharf_pkg::ReorderedTaken : wharf_pkg::ReorderedStale;
  end

  assign start_o = start_q;
endmodule
