// SPDX-License-Identifier: Apache-2.0
// Cell geometry, periphery and transistor counts of the array model.
#include "sim/silicon/sram_area.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace wharf::sim {
namespace {

constexpr double kSquareMicrometresPerSquareMillimetre = 1e6;
constexpr double kNanowattsPerMilliwatt = 1e6;
constexpr double kColumnTransistorsPerPort = 12;
constexpr double kRowTransistorsPerPort = 10;
constexpr double kAccessTransistors = 2;

/// A block of equal cells, without periphery.
struct Cells {
  double width_um = 0;   ///< Of all columns.
  double height_um = 0;  ///< Of one cell.
  double transistors = 0;
};

Cells cells(double columns, std::uint32_t rows, std::uint32_t ports, double width_um, double transistors,
            const SramTechnology& technology) {
  const double further_ports = ports - 1.0;
  const double width = width_um + 2 * further_ports * technology.wire_pitch_um;
  const double height = technology.cell_height_um + further_ports * technology.wire_pitch_um;
  return {columns * width, height, columns * rows * (transistors + kAccessTransistors * further_ports)};
}

struct Geometry {
  double width_um = 0;
  double height_um = 0;
  double transistors = 0;
  std::uint32_t ports = 0;  ///< Of the edge with the most.
};

Geometry geometry(const SramArray& array, const SramTechnology& technology) {
  WHARF_CHECK(array.rows > 0 && array.data_bits > 0 && array.access_ports() > 0);
  const bool searched = array.search_ports > 0;
  const std::uint32_t tag_ports = array.access_ports() + array.search_ports;
  const double tag_transistors = searched ? technology.cam_cell_transistors : technology.cell_transistors;
  const double tag_width = technology.cell_width_um * tag_transistors / technology.cell_transistors;
  const Cells data = cells(array.data_columns(), array.rows, array.access_ports(), technology.cell_width_um,
                           technology.cell_transistors, technology);
  const Cells tag = cells(array.tag_bits, array.rows, tag_ports, tag_width, tag_transistors, technology);
  const double columns = array.data_columns() * array.access_ports() + array.tag_bits * tag_ports;
  Geometry result;
  result.width_um = data.width_um + tag.width_um;
  result.height_um = array.rows * std::max(data.height_um, array.tag_bits > 0 ? tag.height_um : 0);
  result.ports = tag_ports;
  result.transistors = data.transistors + tag.transistors + kColumnTransistorsPerPort * columns +
                       kRowTransistorsPerPort * array.rows * tag_ports;
  return result;
}

}  // namespace

SramArray reorder_buffer_array(std::uint32_t entries) {
  return {.rows = 2 * entries, .data_bits = 512, .tag_bits = 16, .read_ports = 1, .write_ports = 1};
}

SramArray load_store_queue_array(std::uint32_t entries) {
  return {.rows = entries,
          .data_bits = 512,
          .tag_bits = 42,
          .read_ports = 1,
          .write_ports = 1,
          .search_ports = 1};
}

SramEstimate estimate(const SramArray& array, const SramTechnology& technology,
                      const SramCalibration& calibration) {
  const Geometry cells = geometry(array, technology);
  const double depth = calibration.periphery_depth_um * cells.ports;
  SramEstimate result;
  result.cell_area_mm2 = cells.width_um * cells.height_um / kSquareMicrometresPerSquareMillimetre;
  result.area_mm2 =
      (cells.width_um + depth) * (cells.height_um + depth) / kSquareMicrometresPerSquareMillimetre;
  result.transistors = cells.transistors;
  result.leakage_mw = cells.transistors * calibration.leakage_nw_per_transistor / kNanowattsPerMilliwatt;
  return result;
}

SramCalibration calibrate(const SramArray& array, const SramTechnology& technology, double area_mm2,
                          double leakage_mw) {
  const Geometry cells = geometry(array, technology);
  const double area_um2 = area_mm2 * kSquareMicrometresPerSquareMillimetre;
  WHARF_CHECK(area_um2 > cells.width_um * cells.height_um);
  // (width + depth) (height + depth) = area.
  const double half_sum = (cells.width_um + cells.height_um) / 2;
  const double depth =
      -half_sum + std::sqrt(half_sum * half_sum + area_um2 - cells.width_um * cells.height_um);
  return {depth / cells.ports, leakage_mw * kNanowattsPerMilliwatt / cells.transistors};
}

}  // namespace wharf::sim
