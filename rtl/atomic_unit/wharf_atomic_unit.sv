// SPDX-License-Identifier: Apache-2.0
// What an atomic operation makes of 8 bytes of memory. Reference: src/verbs/atomic_value.h. Source: UB-Base 2.0.1, 7.4.
// Description: README.md.
module wharf_atomic_unit (
  input  logic        clk_i,

  input  logic        valid_i,
  input  logic [3:0]  operation_i,  // wharf_pkg::Operation*, of the atomics.
  input  logic [63:0] old_i,        // What memory holds.
  input  logic [63:0] operand_i,
  input  logic [63:0] compare_i,    // Of compare-and-swap.

  // From the cycle after valid_i on, until the one after the next.
  output logic        writes_o,     // Memory takes a value: not from a load, nor from a comparison that failed.
  output logic [63:0] value_o
);
  logic        is_equal, subtracts, writes;
  logic [63:0] sum, value;
  assign is_equal  = old_i == compare_i;
  assign subtracts = operation_i == wharf_pkg::OperationFetchSub;
  assign sum       = old_i + (operand_i ^ {64{subtracts}}) + 64'(subtracts);
  always_comb begin
    writes = 1'b1;
    unique case (operation_i)
      wharf_pkg::OperationCompareSwap: begin
        value  = operand_i;
        writes = is_equal;
      end
      wharf_pkg::OperationAtomicLoad: begin
        value  = old_i;
        writes = 1'b0;
      end
      wharf_pkg::OperationFetchAdd, wharf_pkg::OperationFetchSub: value = sum;
      wharf_pkg::OperationFetchAnd: value = old_i & operand_i;
      wharf_pkg::OperationFetchOr:  value = old_i | operand_i;
      wharf_pkg::OperationFetchXor: value = old_i ^ operand_i;
      default:                      value = operand_i;  // Swap and store.
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      writes_o <= writes;
      value_o  <= value;
    end
  end
endmodule
