// Foreign functions for the tests.
#include <cstring>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using Floats = ffi::Buffer<ffi::F32>;
using FloatResult = ffi::ResultBuffer<ffi::F32>;

static ffi::Error Axpy(float alpha, Floats x, Floats y, FloatResult out) {
  // An operand of one row is for all rows of the other.
  size_t n = out->element_count(), nx = x.element_count(), ny = y.element_count();
  for (size_t i = 0; i < n; ++i)
    out->typed_data()[i] = alpha * x.typed_data()[i % nx] + y.typed_data()[i % ny];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(test_axpy, Axpy,
                              ffi::Ffi::Bind().Attr<float>("alpha").Arg<Floats>().Arg<Floats>().Ret<Floats>());

// The rank of the operand, and its bytes in the order of memory.
static ffi::Error Memory(Floats x, FloatResult out, ffi::ResultBuffer<ffi::S32> rank) {
  std::memcpy(out->typed_data(), x.typed_data(), x.size_bytes());
  rank->typed_data()[0] = static_cast<int32_t>(x.dimensions().size());
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(test_memory, Memory,
                              ffi::Ffi::Bind().Arg<Floats>().Ret<Floats>().Ret<ffi::Buffer<ffi::S32>>());

static ffi::Error Attributes(int32_t a, int64_t b, bool c, std::string_view text, ffi::Span<const float> numbers,
                             ffi::Dictionary more, ffi::ResultBuffer<ffi::F64> out) {
  double* found = out->typed_data();
  found[0] = a;
  found[1] = static_cast<double>(b);
  found[2] = c;
  found[3] = static_cast<double>(text.size());
  found[4] = 0;
  for (float x : numbers) found[4] += x;
  auto inner = more.get<double>("inner");
  if (inner.has_error()) return inner.error();
  found[5] = *inner;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(test_attributes, Attributes,
                              ffi::Ffi::Bind()
                                  .Attr<int32_t>("a")
                                  .Attr<int64_t>("b")
                                  .Attr<bool>("c")
                                  .Attr<std::string_view>("text")
                                  .Attr<ffi::Span<const float>>("numbers")
                                  .Attr<ffi::Dictionary>("more")
                                  .Ret<ffi::Buffer<ffi::F64>>());

static int calls = 0;
extern "C" int test_calls() { return calls; }
static ffi::Error Count(Floats, FloatResult out) {
  ++calls;
  out->typed_data()[0] = static_cast<float>(calls);
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(test_count, Count, ffi::Ffi::Bind().Arg<Floats>().Ret<Floats>());

// 1 if the result is in the memory of the operand.
static ffi::Error Shared(Floats x, FloatResult out) {
  float same = x.typed_data() == out->typed_data() ? 1.0f : 0.0f;
  for (size_t i = 0; i < out->element_count(); ++i) out->typed_data()[i] = same;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(test_shared, Shared, ffi::Ffi::Bind().Arg<Floats>().Ret<Floats>());

static ffi::Error Fail(Floats, FloatResult) { return ffi::Error::InvalidArgument("the handler says no"); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(test_fail, Fail, ffi::Ffi::Bind().Arg<Floats>().Ret<Floats>());
