// SPDX-License-Identifier: Apache-2.0
// Writes completions into a ring in host memory. Description: README.md.
module wharf_completion_writer #(
  parameter int unsigned Entries = 256  // Of the ring: a power of two from 4.
) (
  input  logic                         clk_i,
  input  logic                         rst_i,
  input  logic [57:0]                  base_i,        // The ring's first line.

  input  logic                         in_valid_i,
  output logic                         in_ready_o,
  input  wharf_pkg::nic_completion_t   in_i,
  output logic                         overrun_o,     // As it is taken: the ring is full, the completion is lost.

  // The host has taken an entry. Always taken.
  input  logic                         consumed_i,

  output logic                         line_valid_o,
  input  logic                         line_ready_i,
  output logic [57:0]                  line_o,
  output logic [511:0]                 line_data_o,   // Byte 0 highest,
  output logic [63:0]                  line_enable_o  // its enable, too.
);
  localparam int unsigned IndexW = $clog2(Entries);

  if (Entries < 4 || (Entries & (Entries - 1)) != 0) begin : gen_refuse
    $error("wharf_completion_writer: Entries must be a power of two from 4");
  end

  logic [IndexW-1:0] next_q;
  logic              phase_q;   // Of the entries of this round: 1 in the first one.
  logic [IndexW:0]   unread_q;  // Entries written that the host has not taken.
  logic              is_full, load, writes;
  assign is_full    = unread_q == (IndexW + 1)'(Entries);
  assign load       = !line_valid_o || line_ready_i;
  assign in_ready_o = load;
  assign overrun_o  = in_valid_i && load && is_full;
  assign writes     = in_valid_i && load && !is_full;

  // An entry has 32 bytes: tag, jetty, length (little-endian words), status, operation, flags, phase; the immediate
  // (little-endian), the jetty whose request took a receive, 0. Flags: 1 of a receive, 2 with an immediate.
  logic [255:0] entry;
  assign entry[255:128] = {in_i.tag[7:0], in_i.tag[15:8], in_i.tag[23:16], in_i.tag[31:24],
                           in_i.jetty[7:0], in_i.jetty[15:8], 4'd0, in_i.jetty[19:16], 8'd0,
                           in_i.length[7:0], in_i.length[15:8], in_i.length[23:16], in_i.length[31:24],
                           in_i.status, 4'd0, in_i.operation, 6'd0, in_i.has_immediate, in_i.is_receive, 7'd0, phase_q};
  for (genvar i = 0; i < 8; i++) begin : gen_immediate
    assign entry[127-8*i -: 8] = in_i.immediate[8*i +: 8];
  end
  assign entry[63:0] = {in_i.remote_jetty[7:0], in_i.remote_jetty[15:8], 4'd0, in_i.remote_jetty[19:16], 8'd0, 32'd0};

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      next_q       <= '0;
      phase_q      <= 1'b1;
      unread_q     <= '0;
      line_valid_o <= 1'b0;
    end else begin
      if (load) line_valid_o <= writes;
      if (writes) begin
        next_q <= next_q + 1'b1;
        if (next_q == '1) phase_q <= !phase_q;
      end
      unread_q <= unread_q + (IndexW + 1)'(writes) - (IndexW + 1)'(consumed_i && unread_q != '0);
    end
  end
  always_ff @(posedge clk_i) begin
    if (writes) begin
      line_o        <= base_i + 58'(next_q[IndexW-1:1]);
      line_data_o   <= {2{entry}};
      line_enable_o <= next_q[0] ? {32'd0, 32'hffffffff} : {32'hffffffff, 32'd0};
    end
  end
endmodule
