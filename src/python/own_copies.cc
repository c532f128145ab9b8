// SPDX-License-Identifier: Apache-2.0
// Variables of other libraries that the objects of the programs address as if they were their own: the module
// is linked from the same objects, so it holds copies of them (docs/decisions/0080). A reference that lacks
// one is refused when the module is linked.

// What libfmt is compiled from; it is in no archive.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
}  // namespace detail
FMT_END_NAMESPACE

// The C library's, for what counts references: zero says that there may be several threads, which is always
// right.
extern "C" [[gnu::visibility("hidden")]] char __libc_single_threaded;  // NOLINT(*-reserved-identifier)
char __libc_single_threaded = 0;                                       // NOLINT(*-reserved-identifier)
