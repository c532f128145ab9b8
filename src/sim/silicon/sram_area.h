// SPDX-License-Identifier: Apache-2.0
// Area and leakage of a small memory array at 65 nm from the geometry of its cells. Apart from the studies
// that print it, so that its assumptions stand in one place: it is calibrated on one published array and
// predicts another.
#pragma once

#include <cstdint>

namespace wharf::sim {

/// What the cells are made of. Defaults: a 65 nm process with a six-transistor cell of 0.46 x 1.24 um (0.57
/// um2) and a metal pitch of 210 nm (Bai et al., "A 65nm Logic Technology", IEDM 2004).
struct SramTechnology {
  double cell_width_um = 1.24;
  double cell_height_um = 0.46;
  double wire_pitch_um = 0.21;
  std::uint32_t cell_transistors = 6;
  /// A cell that compares needs four transistors more; its width grows with their number.
  std::uint32_t cam_cell_transistors = 10;
};

/// One array: rows of data, each with a tag, in one bank. Ports read or write whole rows.
struct SramArray {
  std::uint32_t rows = 0;
  std::uint32_t data_bits = 0;  ///< Per row, without check bits.
  std::uint32_t tag_bits = 0;   ///< Per row; held in cells that compare when there is a search port.
  std::uint32_t read_ports = 1;
  std::uint32_t write_ports = 1;
  std::uint32_t search_ports = 0;

  /// Ports that an address decoder and the data columns serve.
  std::uint32_t access_ports() const { return read_ports + write_ports; }
  /// Data columns with eight check bits for 64.
  std::uint32_t data_columns() const { return data_bits + data_bits / 8; }
};

/// The MMIO reorder buffer of "Efficient Remote Memory Ordering for Non-Coherent Interconnects" (ASPLOS
/// '26), 6.8: two networks of `entries` rows of 64 bytes, found by their sequence number. Choice: the tag is
/// a sequence number of 8 bits and a thread of 8.
SramArray reorder_buffer_array(std::uint32_t entries = 16);
/// Its Remote Load-Store Queue: `entries` rows of 64 bytes, searched by address.
/// Choice: the tag is the line of a 48-bit physical address.
SramArray load_store_queue_array(std::uint32_t entries = 256);

/// What the geometry cannot tell, taken from one published array.
struct SramCalibration {
  /// Depth, per port, of the periphery along two edges: decoders and word line drivers beside the rows, sense
  /// amplifiers, write drivers and check-bit logic below the columns.
  double periphery_depth_um = 0;
  double leakage_nw_per_transistor = 0;
};

/// What the model says about an array.
struct SramEstimate {
  double area_mm2 = 0;
  double cell_area_mm2 = 0;  ///< The part that is cells.
  double leakage_mw = 0;
  double transistors = 0;
};

/// The model. Each further port makes every cell it reaches two pitches wider (its pair of bit lines) and one
/// pitch higher (its word line), and adds two transistors to it; a search port does so for the tag's cells,
/// and rows of data stand as high as those of the tag beside them. The periphery is as deep as the
/// calibration says for each port, along two edges. Leakage counts transistors: those of the cells, and per
/// port 12 for each column (sense amplifier, precharge, write driver) and 10 for each row (decoder, word line
/// driver).
///
/// What it leaves out: banks, long wires, larger drivers for longer wires, and the choice of fast or small
/// devices.
SramEstimate estimate(const SramArray& array, const SramTechnology& technology,
                      const SramCalibration& calibration);

/// The calibration under which `array` has the published area and leakage. The area is larger than that of
/// the cells.
SramCalibration calibrate(const SramArray& array, const SramTechnology& technology, double area_mm2,
                          double leakage_mw);

}  // namespace wharf::sim
