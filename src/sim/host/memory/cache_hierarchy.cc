// SPDX-License-Identifier: Apache-2.0
#include "sim/host/memory/cache_hierarchy.h"

namespace wharf::sim {

Result<CacheHierarchy> CacheHierarchy::create(const CacheHierarchyConfig& config) {
  WHARF_TRY(validate(config));
  return CacheHierarchy(config);
}

CacheHierarchy CacheHierarchy::beside(const CacheHierarchyConfig& config, CacheHierarchy& first) {
  const bool shares = first.level_names_.back() == CacheLevel::kLlc;
  return CacheHierarchy(config, shares ? &first : nullptr);
}

CacheHierarchy::CacheHierarchy(const CacheHierarchyConfig& config, CacheHierarchy* below)
    : write_policy_(config.write_policy), below_(below) {
  const std::array<const CacheLevelConfig*, 3> configs{&config.l1, &config.l2, &config.llc};
  TimePs last_latency;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    latencies_[i] = configs[i]->latency;
    if (configs[i]->shape.lines == 0) continue;
    last_latency = configs[i]->latency;
    if (below != nullptr && static_cast<CacheLevel>(i) == CacheLevel::kLlc) continue;
    levels_.emplace_back(configs[i]->shape);
    level_names_.push_back(static_cast<CacheLevel>(i));
  }
  latencies_[static_cast<std::size_t>(CacheLevel::kMemory)] = config.miss_detection.value_or(last_latency);
  first_level_suffices_ = {write_policy_ != WritePolicy::kUncached, write_policy_ == WritePolicy::kWriteBack};
}

CacheAccess CacheHierarchy::access(LineNumber line, bool store, WriteBacks& out) {
  CacheAccess result;
  result.store_to_memory = store && write_policy_ != WritePolicy::kWriteBack;
  if (result.store_to_memory) ++counters_.stores_to_memory;
  if (write_policy_ != WritePolicy::kUncached) {
    const bool dirty = store && write_policy_ == WritePolicy::kWriteBack;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      // The dirty mark goes to the first level, where the line is about to live.
      if (!levels_[level].touch(line, dirty && level == 0)) continue;
      result.level = level_names_[level];
      result.latency = latency(result.level);
      ++counters_.answered[static_cast<std::size_t>(result.level)];
      for (std::size_t above = level; above > 0; --above) {
        install(above - 1, line, dirty && above == 1, out);
      }
      return result;
    }
    if (below_ != nullptr && below_->levels_.back().touch(line, false)) {
      result.level = CacheLevel::kLlc;
      result.latency = latency(result.level);
      ++counters_.answered[static_cast<std::size_t>(result.level)];
      for (std::size_t level = levels_.size(); level > 0; --level)
        install(level - 1, line, dirty && level == 1, out);
      return result;
    }
    result.needs_fill = !store || write_policy_ == WritePolicy::kWriteBack;
  }
  result.level = CacheLevel::kMemory;
  result.latency = latency(CacheLevel::kMemory);
  ++counters_.answered[static_cast<std::size_t>(CacheLevel::kMemory)];
  return result;
}

void CacheHierarchy::fill(LineNumber line, bool store, WriteBacks& out) {
  const bool dirty = store && write_policy_ == WritePolicy::kWriteBack;
  ++counters_.fills;
  if (below_ != nullptr) below_->add_to_last(line, false, out);
  for (std::size_t level = levels_.size(); level > 0; --level) {
    const bool dirty_here = dirty && level == 1;
    if (!levels_[level - 1].touch(line, dirty_here)) install(level - 1, line, dirty_here, out);
  }
}

void CacheHierarchy::fill_absent(LineNumber line, bool store, WriteBacks& out) {
  const bool dirty = store && write_policy_ == WritePolicy::kWriteBack;
  ++counters_.fills;
  if (below_ != nullptr) below_->add_to_last(line, false, out);
  for (std::size_t level = levels_.size(); level > 0; --level)
    install(level - 1, line, dirty && level == 1, out);
}

void CacheHierarchy::add_to_last(LineNumber line, bool dirty, WriteBacks& out) {
  const std::size_t last = levels_.size() - 1;
  if (!levels_[last].touch(line, dirty)) install(last, line, dirty, out);
}

void CacheHierarchy::install(std::size_t level, LineNumber line, bool dirty, WriteBacks& out) {
  const Cache::Victim victim = levels_[level].insert(line, dirty);
  if (!victim.valid) return;
  if (level + 1 == levels_.size() && below_ == nullptr) out.push({victim.line, victim.place, victim.dirty});
  if (victim.dirty) write_down(level + 1, victim.line, out);
}

void CacheHierarchy::write_down(std::size_t level, LineNumber line, WriteBacks& out) {
  if (level == levels_.size() && below_ != nullptr) {
    below_->add_to_last(line, true, out);
    return;
  }
  if (level == levels_.size()) {
    ++counters_.write_backs;
    out.push(line);
    return;
  }
  if (!levels_[level].touch(line, true)) install(level, line, true, out);
}

bool CacheHierarchy::invalidate(LineNumber line) {
  bool dirty = false;
  for (Cache& level : levels_) dirty |= level.remove(line).dirty;
  return dirty;
}

bool CacheHierarchy::clean(LineNumber line) {
  bool dirty = false;
  for (Cache& level : levels_) dirty |= level.clean(line);
  if (dirty) ++counters_.write_backs;
  return dirty;
}

bool CacheHierarchy::contains(LineNumber line) const {
  for (const Cache& level : levels_) {
    if (level.contains(line)) return true;
  }
  return false;
}

bool CacheHierarchy::contains_above_last(LineNumber line) const {
  for (std::size_t level = 0; level + 1 < levels_.size(); ++level) {
    if (levels_[level].contains(line)) return true;
  }
  return false;
}

std::uint32_t CacheHierarchy::line_count() const {
  std::uint32_t lines = 0;
  for (const Cache& level : levels_) lines += level.shape().lines;
  return lines;
}

bool CacheHierarchy::is_dirty(LineNumber line) const {
  for (const Cache& level : levels_) {
    if (level.is_dirty(line)) return true;
  }
  return false;
}

}  // namespace wharf::sim
