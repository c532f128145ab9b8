// SPDX-License-Identifier: Apache-2.0
// Looks whether the invariant CRC of frames is right, and says so with their last flit. Description: README.md.
module wharf_icrc_checker (
  input  logic         clk_i,
  input  logic         rst_i,

  // Frames without their check sequence. Always taken.
  input  logic         in_valid_i,
  input  logic [511:0] in_data_i,
  input  logic [6:0]   in_bytes_i,
  input  logic         in_last_i,
  input  logic         in_bad_i,

  // The same, two cycles later.
  output logic         out_valid_o,
  output logic [511:0] out_data_o,
  output logic [6:0]   out_bytes_o,
  output logic         out_last_o,
  output logic         out_bad_o    // With the last flit: it was bad, or the CRC is wrong.
);
  // The register after a whole packet with its CRC, and behind that as many bytes of zeros.
  function automatic logic [2047:0] all_ends(input logic [31:0] good);
    logic [31:0] state;
    state = good;
    for (int unsigned z = 0; z < 64; z++) begin
      all_ends[32*z +: 32] = state;
      for (int unsigned n = 0; n < 8; n++) state = {1'b0, state[31:1]} ^ (state[0] ? 32'hedb88320 : 32'd0);
    end
  endfunction
  localparam logic [2047:0] Ends = all_ends(32'hdebb20e3);

  // What the length of the datagram says is the packet's; Ethernet may have padded behind it.
  logic         inside_q;
  logic [15:0]  left_q, left;
  logic [63:0]  keeps;
  logic [511:0] data;
  logic         is_end;
  assign left   = inside_q ? left_q : in_data_i[511-8*38 -: 16] + 16'd34;
  assign is_end = left != '0 && left <= 16'd64;
  for (genvar i = 0; i < 64; i++) begin : gen_keep
    assign keeps[i]           = left[15:7] != '0 || 7'(i) < left[6:0];
    assign data[511-8*i -: 8] = in_data_i[511-8*i -: 8] & {8{keeps[i]}};
  end
  logic [31:0] crc, next_crc;
  wharf_icrc icrc (.clk_i, .valid_i(in_valid_i), .first_i(!inside_q), .data_i(data), .crc_o(crc), .next_o(next_crc));
  always_ff @(posedge clk_i) begin
    if (rst_i) inside_q <= 1'b0;
    else if (in_valid_i) inside_q <= !in_last_i;
    if (in_valid_i) left_q <= left > 16'd64 ? left - 16'd64 : 16'd0;
  end

  // Two cycles on, the register is that of the flit.
  logic         valid_q, first_q, first_qq, last_q, bad_q, end_q, end_qq, good_q, good, bad_qq;
  logic [5:0]   zeros_q, zeros_qq;
  logic [511:0] data_q;
  logic [6:0]   bytes_q;
  assign good = end_qq ? crc == Ends[{zeros_qq, 5'd0} +: 32] : good_q && !first_qq;
  assign out_bad_o = bad_qq || !good;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q     <= 1'b0;
      out_valid_o <= 1'b0;
    end else begin
      valid_q     <= in_valid_i;
      out_valid_o <= valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    data_q  <= in_data_i;
    bytes_q <= in_bytes_i;
    last_q  <= in_last_i;
    bad_q   <= in_bad_i;
    first_q <= !inside_q;
    end_q   <= is_end;
    zeros_q <= 6'd0 - left[5:0];
    out_data_o  <= data_q;
    out_bytes_o <= bytes_q;
    out_last_o  <= last_q;
    bad_qq   <= bad_q;
    first_qq <= first_q;
    end_qq   <= end_q;
    zeros_qq <= zeros_q;
    if (out_valid_o) good_q <= good;
  end
  logic unused;
  assign unused = &{1'b0, next_crc};
endmodule
