// SPDX-License-Identifier: Apache-2.0
// Joins several streams into one, in turn. Description: README.md.
module wharf_merge #(
  parameter int unsigned Width = 8,
  parameter int unsigned Ports = 4  // From 2.
) (
  input  logic                     clk_i,
  input  logic                     rst_i,

  input  logic [Ports-1:0]         in_valid_i,
  output logic [Ports-1:0]         in_ready_o,
  input  logic [Ports*Width-1:0]   in_data_i,   // Port p at [p*Width +: Width].

  output logic                     out_valid_o,
  input  logic                     out_ready_i,
  output logic [Width-1:0]         out_data_o,
  output logic [$clog2(Ports)-1:0] out_port_o   // Where the beat came from.
);
  localparam int unsigned PortW = $clog2(Ports);

  if (Ports < 2) begin : gen_refuse
    $error("wharf_merge: Ports must be 2 or more");
  end

  // Ports above the last one served come first, then all from the lowest.
  logic [Ports-1:0] later_q, first, chosen;
  logic [Ports-1:0] later_valid;

  assign later_valid = in_valid_i & later_q;
  assign first       = later_valid != '0 ? later_valid : in_valid_i;
  assign chosen      = first & (~first + 1'b1);  // Its lowest bit.

  // The output is a register: its ready does not reach the inputs through the choice.
  logic             out_valid_q;
  logic [Width-1:0] out_data_q, data;
  logic [PortW-1:0] out_port_q, port;
  logic             load;

  assign load        = !out_valid_q || out_ready_i;
  assign in_ready_o  = load ? chosen : '0;
  assign out_valid_o = out_valid_q;
  assign out_data_o  = out_data_q;
  assign out_port_o  = out_port_q;

  always_comb begin
    data = '0;
    port = '0;
    for (int unsigned p = 0; p < Ports; p++) begin
      data = data | (in_data_i[p*Width +: Width] & {Width{chosen[p]}});
      port = port | (PortW'(p) & {PortW{chosen[p]}});
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      later_q     <= '0;
      out_valid_q <= 1'b0;
    end else if (load) begin
      out_valid_q <= in_valid_i != '0;
      if (in_valid_i != '0) later_q <= ~(chosen | (chosen - 1'b1));  // The bits above the chosen one.
    end
  end

  always_ff @(posedge clk_i) begin
    if (load) begin
      out_data_q <= data;
      out_port_q <= port;
    end
  end
endmodule
