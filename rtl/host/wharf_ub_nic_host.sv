// SPDX-License-Identifier: Apache-2.0
// The NIC as a simulated host holds it, and whether something inside waits for nothing but time: while nothing does and
// no port moves, its clock may stand. Description: README.md. Not for synthesis: it looks into the NIC.
module wharf_ub_nic_host #(
  parameter int unsigned Jetties      = 64,
  parameter int unsigned QueueDepth   = 64,
  parameter int unsigned ReceiveDepth = 64,
  parameter int unsigned Segments     = 64,
  parameter int unsigned Mtu          = 4096,
  parameter int unsigned Window       = 64,
  parameter int unsigned SendFlits    = 8192,
  parameter int unsigned ReceiveFlits = 8192,
  parameter int unsigned Responses    = 64,
  parameter int unsigned Completions  = 4096
) (
  input  logic                        clk_i,
  input  logic                        rst_i,
  input  wharf_pkg::ub_route_t        route_i,
  input  logic [57:0]                 ring_i,
  input  logic                        open_valid_i,
  input  logic [$clog2(Jetties)-1:0]  open_jetty_i,
  input  logic                        open_value_i,
  input  logic [31:0]                 open_token_i,
  input  logic                        segment_valid_i,
  input  logic [$clog2(Segments)-1:0] segment_index_i,
  input  wharf_pkg::ub_segment_t      segment_i,
  input  logic                        consumed_i,
  input  logic                        doorbell_valid_i,
  output logic                        doorbell_ready_o,
  input  logic [19:0]                 doorbell_jetty_i,
  input  wharf_pkg::nic_request_t     doorbell_i,
  output logic                        doorbell_refused_o,
  input  logic                        post_valid_i,
  output logic                        post_ready_o,
  input  logic [19:0]                 post_jetty_i,
  input  wharf_pkg::nic_receive_t     post_i,
  output logic                        post_refused_o,
  output logic                        tx_valid_o,
  input  logic                        tx_ready_i,
  output logic [511:0]                tx_data_o,
  output logic [6:0]                  tx_bytes_o,
  output logic                        tx_last_o,
  input  logic                        rx_valid_i,
  input  logic [511:0]                rx_data_i,
  input  logic [6:0]                  rx_bytes_i,
  input  logic                        rx_last_i,
  output logic                        memory_valid_o,
  input  logic                        memory_ready_i,
  output wharf_pkg::memory_request_t  memory_o,
  input  logic                        answer_valid_i,
  input  logic                        answer_tag_i,
  input  logic [511:0]                answer_data_i,
  output logic                        failed_o,
  output wharf_pkg::nic_counters_t    counters_o,
  output logic                        counts_time_o
);
  logic [9:0] stages;
  wharf_ub_nic #(
    .Jetties(Jetties), .QueueDepth(QueueDepth), .Segments(Segments), .Mtu(Mtu), .Window(Window), .SendFlits(SendFlits),
    .ReceiveFlits(ReceiveFlits), .Responses(Responses), .Completions(Completions), .ReceiveDepth(ReceiveDepth)
  ) nic (
    .clk_i, .rst_i, .route_i, .ring_i, .open_valid_i, .open_jetty_i, .open_value_i, .open_token_i, .segment_valid_i,
    .segment_index_i, .segment_i, .consumed_i, .doorbell_valid_i, .doorbell_ready_o, .doorbell_jetty_i, .doorbell_i,
    .doorbell_refused_o, .post_valid_i, .post_ready_o, .post_jetty_i, .post_i, .post_refused_o, .tx_valid_o, .tx_ready_i,
    .tx_data_o, .tx_bytes_o, .tx_last_o, .rx_valid_i, .rx_data_i, .rx_bytes_i, .rx_last_i, .rx_bad_i(1'b0),
    .memory_valid_o, .memory_ready_i, .memory_o, .answer_valid_i, .answer_tag_i, .answer_data_i, .failed_o, .counters_o,
    .stages_o(stages)
  );
  assign counts_time_o = nic.timer.running_o || nic.retry_queue.waits;
  logic unused;
  assign unused = &{1'b0, stages};
endmodule
