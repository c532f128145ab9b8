// SPDX-License-Identifier: Apache-2.0
// What holds for atomics of any values: inverse operations give the old value back, no bit changes that must not, and a
// comparison that fails writes nothing.
// PROVE wharf_atomic_unit_rules induction 2
// PROVE wharf_atomic_unit_rules cover 3
module wharf_atomic_unit_rules (
  input logic        clk_i,
  input logic [3:0]  operation_i,
  input logic [63:0] old_i, operand_i, compare_i
);
  // The second unit undoes what the first one did in the cycle before.
  logic        writes, undo_writes;
  logic [63:0] value, undone;
  logic [3:0]  back;
  wharf_atomic_unit unit (
    .clk_i, .valid_i(1'b1), .operation_i, .old_i, .operand_i, .compare_i, .writes_o(writes), .value_o(value)
  );
  logic [3:0]  operation_q, operation_q2;
  logic [63:0] old_q, old_q2, operand_q, compare_q;
  logic        seen_q, seen_q2;
  initial seen_q = 1'b0;
  initial seen_q2 = 1'b0;
  assign back = operation_q == wharf_pkg::OperationFetchAdd ? wharf_pkg::OperationFetchSub :
                operation_q == wharf_pkg::OperationFetchSub ? wharf_pkg::OperationFetchAdd : operation_q;
  wharf_atomic_unit undo (
    .clk_i, .valid_i(1'b1), .operation_i(back), .old_i(value), .operand_i(operand_q), .compare_i(compare_q),
    .writes_o(undo_writes), .value_o(undone)
  );
  always_ff @(posedge clk_i) begin
    seen_q       <= 1'b1;
    seen_q2      <= seen_q;
    operation_q  <= operation_i;
    operation_q2 <= operation_q;
    old_q        <= old_i;
    old_q2       <= old_q;
    operand_q    <= operand_i;
    compare_q    <= compare_i;
  end
  always_comb begin
    if (seen_q) begin
      if (operation_q == wharf_pkg::OperationCompareSwap) begin
        assert (writes == (old_q == compare_q));
        if (writes) assert (value == operand_q);
      end else if (operation_q == wharf_pkg::OperationAtomicLoad) begin
        assert (!writes);
      end else begin
        assert (writes);
      end
      if (operation_q == wharf_pkg::OperationSwap || operation_q == wharf_pkg::OperationAtomicStore) assert (value == operand_q);
      if (operation_q == wharf_pkg::OperationFetchAnd) assert ((value & ~operand_q) == '0 && (value | ~operand_q) == (old_q | ~operand_q));
      if (operation_q == wharf_pkg::OperationFetchOr) assert ((value & operand_q) == operand_q && (value & ~operand_q) == (old_q & ~operand_q));
    end
    if (seen_q2 && (operation_q2 == wharf_pkg::OperationFetchAdd || operation_q2 == wharf_pkg::OperationFetchSub ||
                    operation_q2 == wharf_pkg::OperationFetchXor)) begin
      assert (undo_writes && undone == old_q2);
    end
    cover (seen_q && operation_q == wharf_pkg::OperationCompareSwap && writes && value != old_q);
  end
endmodule
