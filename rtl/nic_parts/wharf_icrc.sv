// SPDX-License-Identifier: Apache-2.0
// The invariant CRC of RoCEv2 over frames, a flit a cycle: what the register holds after each flit. Reference: icrc() of
// src/wire/icrc.h. Source: IBTA vol 1 7.8.1, Annex A17.3.3. Description: README.md.
module wharf_icrc (
  input  logic         clk_i,

  // Flits of frames, Ethernet header first, byte 0 highest. Bytes that the CRC does not cover behind the packet are zero.
  input  logic         valid_i,
  input  logic         first_i,   // Of a frame.
  input  logic [511:0] data_i,

  // Two cycles later, until the next flit: the register as if each flit had 64 bytes.
  output logic [31:0]  crc_o,
  output logic [31:0]  next_o     // What it takes next, if a flit came a cycle ago.
);
  localparam logic [31:0] Polynomial = 32'hedb88320;

  // One bit of the register that goes on without data.
  function automatic logic [31:0] step(input logic [31:0] state);
    step = {1'b0, state[31:1]} ^ (state[0] ? Polynomial : 32'd0);
  endfunction
  function automatic logic [31:0] advance(input logic [31:0] state, input int unsigned bits);
    advance = state;
    for (int unsigned i = 0; i < bits; i++) advance = step(advance);
  endfunction
  // Which bits of a flit make a bit of the register. The last bit in the order of the CRC is the highest of byte 63.
  function automatic logic [511:0] row_of(input logic [4:0] index);
    logic [31:0] state;
    state  = Polynomial;
    row_of = '0;
    for (int unsigned n = 0; n < 512; n++) begin
      row_of[(n&504)+7-(n&7)] = state[index];
      state = step(state);
    end
  endfunction

  // Before the packet stand 8 bytes of ones, and 50 bytes of the first flit are the packet's.
  localparam logic [31:0] Seed = advance(32'hdebb20e3, 400);

  // TOS, TTL, checksums of IP and UDP, and BTH byte 4 count as ones; the Ethernet header does not count.
  localparam logic [511:0] Ones = {120'd0, 8'hff, 48'd0, 8'hff, 8'd0, 16'hffff, 112'd0, 16'hffff, 32'd0, 8'hff, 136'd0};
  localparam logic [511:0] Covered = {112'd0, {400{1'b1}}};
  logic [511:0] data;
  assign data = first_i ? (data_i & Covered) | Ones : data_i;

  logic        valid_q, first_q;
  logic [31:0] part, part_q, turned, moved;
  // The register meets the first four bytes of the next flit, its lowest byte first.
  assign turned = {crc_o[7:0], crc_o[15:8], crc_o[23:16], crc_o[31:24]};
  for (genvar i = 0; i < 32; i++) begin : gen_bit
    localparam logic [511:0] Row = row_of(i);
    assign part[i]  = ^(data & Row);
    assign moved[i] = ^(turned & Row[511:480]);
  end
  always_ff @(posedge clk_i) begin
    valid_q <= valid_i;
    first_q <= first_i;
    if (valid_i) part_q <= part;
    if (valid_q) crc_o <= next_o;
  end
  assign next_o = part_q ^ (first_q ? Seed : moved);
endmodule
