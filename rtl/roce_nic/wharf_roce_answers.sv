// SPDX-License-Identifier: Apache-2.0
// What this side owes its peers, in the order in which it came to owe it: acknowledgements, NAKs, data and results. An
// acknowledgement that waits says more when more is acknowledged. Reference: Responder::transmit() of src/engine/roce.
// Source: IBTA vol 1 9.7.5. Description: README.md.
module wharf_roce_answers #(
  parameter int unsigned QueuePairs = 8,    // A power of two from 2.
  parameter int unsigned Depth      = 16,   // Answers that wait: a power of two from 2.
  parameter int unsigned Mtu        = 1024  // Data of a packet: a power of two.
) (
  input  logic                          clk_i,
  input  logic                          rst_i,

  input  logic                          push_valid_i,  // Only with room_o.
  input  wharf_pkg::roce_answer_t       push_i,
  input  logic [$clog2(QueuePairs)-1:0] push_pair_i,
  output logic                          room_o,

  output logic                          job_valid_o,
  input  logic                          job_ready_i,
  output wharf_pkg::roce_job_t          job_o,

  // Something to count, as it happens.
  output logic                          merged_o,
  output logic                          acknowledged_o,
  output logic                          nak_o,
  output logic                          not_ready_o
);
  localparam int unsigned PairW = $clog2(QueuePairs);
  localparam int unsigned PosW  = $clog2(Depth);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : gen_refuse
    $error("wharf_roce_answers: Depth must be a power of two from 2");
  end

  // Answers: one write port, one asynchronous read port. Where the acknowledgement of a queue pair waits that is the last
  // of its answers: one write port, two asynchronous read ports.
  logic [wharf_pkg::RoceAnswerW+PairW-1:0] answers [Depth];
  logic [PosW-1:0]                         waits_at [QueuePairs];
  logic [QueuePairs-1:0]                   waits_q;
  logic [PosW:0]                           write_q, read_q, level;
  logic [PosW-1:0]                         read_at, merge_at;
  logic                                    pushes, merges, pops;
  assign level    = write_q - read_q;
  assign room_o   = level != (PosW + 1)'(Depth);
  assign read_at  = read_q[PosW-1:0];
  assign merge_at = waits_at[push_pair_i];
  // The oldest one is on its way already.
  assign merges   = push_valid_i && push_i.kind == wharf_pkg::AnswerAcknowledge && waits_q[push_pair_i] && merge_at != read_at;
  assign pushes   = push_valid_i && !merges;
  assign merged_o = merges;

  wharf_pkg::roce_answer_t answer;
  logic [PairW-1:0]        pair;
  assign {pair, answer} = answers[read_at];
  always_ff @(posedge clk_i) begin
    if (push_valid_i) answers[merges ? merge_at : write_q[PosW-1:0]] <= {push_pair_i, push_i};
    if (pushes) waits_at[push_pair_i] <= write_q[PosW-1:0];
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      write_q <= '0;
      read_q  <= '0;
      waits_q <= '0;
    end else begin
      if (pushes) write_q <= write_q + 1'b1;
      if (pops) read_q <= read_q + 1'b1;
      if (pops && waits_at[pair] == read_at) waits_q[pair] <= 1'b0;
      // What stands behind it must not be acknowledged by it.
      if (pushes) waits_q[push_pair_i] <= push_i.kind == wharf_pkg::AnswerAcknowledge;
    end
  end

  // ---------------------------------------------------------------- Packets
  logic [31:0] gone_q, left;   // Bytes of a Read that have gone, and that are left.
  logic [23:0] sent_q;         // Packets of it.
  logic        is_read, is_first, is_last, sends;
  assign is_read     = answer.kind == wharf_pkg::AnswerRead;
  assign left        = answer.length - gone_q;
  assign is_first    = sent_q == '0;
  assign is_last     = !is_read || left <= 32'(Mtu);
  assign job_valid_o = level != '0;
  assign sends       = job_valid_o && job_ready_i;
  assign pops        = sends && is_last;
  always_comb begin
    job_o             = '0;
    job_o.opcode      = wharf_pkg::RoceAcknowledge;
    job_o.destination = answer.destination;
    job_o.psn         = answer.psn + sent_q;
    job_o.urgency     = wharf_pkg::UrgencyAcknowledgement;
    job_o.syndrome    = answer.syndrome;
    job_o.msn         = answer.msn;
    job_o.address     = answer.address + 64'(gone_q);
    job_o.data        = {answer.address, 64'd0};
    if (is_read) begin
      job_o.opcode  = is_first ? (is_last ? wharf_pkg::RoceReadOnly : wharf_pkg::RoceReadFirst)
                               : (is_last ? wharf_pkg::RoceReadLast : wharf_pkg::RoceReadMiddle);
      job_o.urgency = wharf_pkg::UrgencyData;
      job_o.bytes   = is_last ? left[15:0] : 16'(Mtu);
    end else if (answer.kind == wharf_pkg::AnswerAtomic) begin
      job_o.opcode = wharf_pkg::RoceAtomicAcknowledge;
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      gone_q <= '0;
      sent_q <= '0;
    end else if (sends) begin
      gone_q <= is_last ? '0 : gone_q + 32'(Mtu);
      sent_q <= is_last ? '0 : sent_q + 24'd1;
    end
  end
  assign acknowledged_o = pops && answer.kind == wharf_pkg::AnswerAcknowledge;
  assign nak_o          = pops && answer.kind == wharf_pkg::AnswerNak && answer.syndrome[6:5] == wharf_pkg::AethNak;
  assign not_ready_o    = pops && answer.kind == wharf_pkg::AnswerNak && answer.syndrome[6:5] == wharf_pkg::AethNotReady;
endmodule
