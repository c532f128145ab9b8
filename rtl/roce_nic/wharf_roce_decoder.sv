// SPDX-License-Identifier: Apache-2.0
// What the headers of a packet say, and whether it goes any further. Reference: decode_roce() of src/wire/roce_codec.h, and
// the first checks of RoceEngine::accept(). Source: IBTA vol 1 9.2, 9.3, 9.6.
module wharf_roce_decoder #(
  parameter int unsigned LengthW = 13  // Bits of the length of a packet.
) (
  input  logic                     clk_i,
  input  logic                     rst_i,

  // From the frame reader: a packet of no bytes is one that it has dropped.
  input  logic                     head_valid_i,
  output logic                     head_ready_o,
  input  logic [LengthW-1:0]       head_length_i,  // With the ICRC, which is right.
  input  logic [639:0]             head_bytes_i,

  // A cycle later.
  output logic                     read_valid_o,
  input  logic                     read_ready_i,
  output logic [2:0]               read_verdict_o, // wharf_pkg::Roce*
  output wharf_pkg::roce_headers_t read_headers_o,
  output logic [6:0]               read_start_o,   // Where its data begins,
  output logic [LengthW-1:0]       read_bytes_o    // and how long it is.
);
  logic known, reth, atomic, aeth, immediate, data;
  logic [4:0] extension;
  logic [7:0] code;
  assign code = head_bytes_i[639:632];
  wharf_roce_opcode opcode (
    .opcode_i(code), .known_o(known), .reth_o(reth), .atomic_o(atomic), .aeth_o(aeth), .immediate_o(immediate),
    .data_o(data), .bytes_o(extension)
  );
  logic [LengthW:0] rest;   // Data and pad; negative if the headers are not all there.
  logic [6:0]       start;
  logic [1:0]       pad;
  logic [2:0]       verdict;
  logic             fits;
  assign start = 7'd12 + 7'(extension);
  assign pad   = head_bytes_i[629:628];
  assign rest  = {1'b0, head_length_i} - (LengthW + 1)'(start) - (LengthW + 1)'(4);
  assign fits  = !rest[LengthW] && (data ? rest[1:0] == '0 && (rest != '0 || pad == '0) : rest == '0 && pad == '0);
  always_comb begin
    verdict = wharf_pkg::RoceGood;
    if (head_length_i < LengthW'(16)) verdict = wharf_pkg::RoceForeign;
    else if (!known) verdict = code == wharf_pkg::RoceNotification ? wharf_pkg::RoceCongestion :
                               (code[7:5] == 3'd1 || code[7:5] == 3'd3 ? wharf_pkg::RoceOtherService
                                                                      : wharf_pkg::RoceUnknownOpcode);
    else if (head_bytes_i[627:624] != '0) verdict = wharf_pkg::RoceBadVersion;
    else if (!fits) verdict = wharf_pkg::RoceForeign;
  end

  logic load;
  assign load         = !read_valid_o || read_ready_i;
  assign head_ready_o = load;
  always_ff @(posedge clk_i) begin
    if (rst_i) read_valid_o <= 1'b0;
    else if (load) read_valid_o <= head_valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (load) begin
      read_verdict_o <= verdict;
      read_start_o   <= start;
      read_bytes_o   <= rest[LengthW-1:0] - LengthW'(pad);
      read_headers_o.opcode      <= code;
      read_headers_o.partition   <= head_bytes_i[623:608];
      read_headers_o.destination <= head_bytes_i[599:576];
      read_headers_o.acknowledge <= head_bytes_i[575];
      read_headers_o.psn         <= head_bytes_i[567:544];
      read_headers_o.address     <= head_bytes_i[543:480];
      read_headers_o.key         <= head_bytes_i[479:448];
      read_headers_o.length      <= head_bytes_i[447:416];
      read_headers_o.operand     <= head_bytes_i[447:384];
      read_headers_o.compare     <= head_bytes_i[383:320];
      read_headers_o.immediate   <= reth ? head_bytes_i[415:384] : head_bytes_i[543:512];
      read_headers_o.syndrome    <= head_bytes_i[543:536];
      read_headers_o.msn         <= head_bytes_i[535:512];
    end
  end
  logic unused;
  assign unused = &{1'b0, atomic, aeth, immediate, head_bytes_i};
endmodule
