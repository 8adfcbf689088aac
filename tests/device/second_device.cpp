// A second device for torch: kernels run on the CPU, but memory, generators and placement are a device's own.
//
// An operation that would fail on an accelerator because its tensors are on different devices fails here too, and
// launches, synchronisations and copies are counted. second_device.py compiles this file and registers the device.

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_cpu_dispatch.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

using at::Tensor;
using c10::IntArrayRef;
using c10::SymIntArrayRef;
using std::optional;

constexpr auto KIND = c10::DeviceType::PrivateUse1;
const c10::Device DEVICE(KIND, 0);

// ---- Memory, guard, generator

struct Memory final : c10::Allocator {
  static void release(void* data) { free(data); }
  c10::DataPtr allocate(size_t size) override {
    void* data = nullptr;
    if (size > 0) TORCH_CHECK(posix_memalign(&data, 64, size) == 0, "out of memory");
    return {data, data, &release, DEVICE};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t size) const override { memcpy(to, from, size); }
};
Memory memory;
REGISTER_ALLOCATOR(KIND, &memory)

struct Guard final : c10::impl::NoOpDeviceGuardImpl<KIND> {
  static c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, DEVICE); }
  c10::Device exchangeDevice(c10::Device) const override { return DEVICE; }
  c10::Device getDevice() const override { return DEVICE; }
  c10::Stream getStream(c10::Device) const noexcept override { return stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(); }
  c10::Stream getNewStream(c10::Device, int) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return stream(); }
  void record(void**, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void*, c10::DeviceIndex) const noexcept override {}
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct DeviceGenerator final : c10::GeneratorImpl {
  at::Generator host = at::detail::createCPUGenerator();
  DeviceGenerator() : GeneratorImpl(DEVICE, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}
  void set_current_seed(uint64_t seed) override { host.set_current_seed(seed); }
  void set_offset(uint64_t) override {}
  uint64_t get_offset() const override { return 0; }
  uint64_t current_seed() const override { return host.current_seed(); }
  uint64_t seed() override { return host.seed(); }
  void set_state(const c10::TensorImpl& state) override { host.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return host.unsafeGetGeneratorImpl()->get_state(); }
  DeviceGenerator* clone_impl() const override {
    auto* copy = new DeviceGenerator();
    copy->host = host.clone();
    return copy;
  }
  static c10::DeviceType device_type() { return KIND; }
};

at::Generator& default_generator() {
  static at::Generator generator = at::make_generator<DeviceGenerator>();
  return generator;
}

at::Generator& on_host(const at::Generator& generator) {
  return static_cast<DeviceGenerator*>(generator.unsafeGetGeneratorImpl())->host;
}

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override { return default_generator(); }
  at::Generator getNewGenerator(c10::DeviceIndex) const override { return at::make_generator<DeviceGenerator>(); }
  at::Device getDeviceFromPtr(void*) const override { return DEVICE; }
  c10::Allocator* getPinnedMemoryAllocator() const override { return at::getCPUAllocator(); }
  bool isPinnedPtr(const void*) const override { return false; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t size) const override {
    auto data = memory.allocate(size);
    if (storage.data()) memcpy(data.get(), storage.data(), std::min(size, storage.nbytes()));
    storage.unsafeGetStorageImpl()->set_data_ptr(std::move(data));
    storage.unsafeGetStorageImpl()->set_nbytes(size);
  }
};

// ---- Counts, of what the host asks of the device; not of what a kernel calls in turn

std::mutex counting;
std::map<std::string, int64_t> counted;
thread_local int depth = 0;
bool has_float64 = true;

struct Within {
  Within() { ++depth; }
  ~Within() { --depth; }
};

void count(const std::string& what) {
  if (depth > 0) return;
  std::lock_guard<std::mutex> lock(counting);
  ++counted[what];
}

// ---- Tensors on the device

void check_type(at::ScalarType type) {
  TORCH_CHECK_TYPE(has_float64 || (type != at::kDouble && type != at::kComplexDouble), "the device has no float64");
}

Tensor as_host(const Tensor& tensor) {
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU));
}

Tensor empty(IntArrayRef size, optional<at::ScalarType> type, optional<at::Layout>, optional<at::Device>,
             optional<bool>, optional<at::MemoryFormat> format) {
  check_type(c10::dtype_or_default(type));
  return at::detail::empty_generic(size, &memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(type), format);
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, optional<at::ScalarType> type, optional<at::Layout>,
                     optional<at::Device>, optional<bool>) {
  check_type(c10::dtype_or_default(type));
  return at::detail::empty_strided_generic(size, stride, &memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(type));
}

Tensor copy_from(const Tensor& from, const Tensor& to, bool) {
  if (from.numel() == 0 && to.numel() == 0) return to;
  count(from.is_cpu() ? "copy to device" : to.is_cpu() ? "copy to host" : "launch copy_");
  Within within;
  (to.is_cpu() ? to : as_host(to)).copy_(from.is_cpu() ? from : as_host(from));
  return to;
}

Tensor copy_from_and_resize(const Tensor& from, const Tensor& to) {
  Within within;
  at::native::resize_(to, from.sizes(), std::nullopt);
  return copy_from(from, to, false);
}

at::Scalar item(const Tensor& tensor) {
  count("synchronise item");
  Within within;
  return at::_local_scalar_dense(as_host(tensor));
}

Tensor as_strided(const Tensor& self, SymIntArrayRef size, SymIntArrayRef stride, optional<c10::SymInt> offset) {
  return at::cpu::as_strided_symint(self, size, stride, offset);
}
const Tensor& resize_(const Tensor& self, SymIntArrayRef size, optional<at::MemoryFormat> format) {
  return at::native::resize_(self, C10_AS_INTARRAYREF_SLOW(size), format);
}
Tensor reshape_alias(const Tensor& self, SymIntArrayRef size, SymIntArrayRef stride) {
  return at::native::_reshape_alias(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}
Tensor view(const Tensor& self, SymIntArrayRef size) { return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size)); }
Tensor unfold(const Tensor& self, int64_t dim, int64_t size, int64_t step) {
  return at::native::unfold(self, dim, size, step);
}
Tensor& set_tensor(Tensor& self, const Tensor& source) { return at::native::set_tensor_(self, source); }
Tensor& set_storage(Tensor& self, at::Storage source) { return at::native::set_(self, source); }
Tensor& set_part(Tensor& self, at::Storage source, int64_t offset, IntArrayRef size, IntArrayRef stride) {
  return at::cpu::set_(self, source, offset, size, stride);
}

// ---- All other operations

using Names = std::unordered_set<std::string>;
//: Operations that may take indices, their second argument, from the host.
const Names INDEXING = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_",
                        "aten::_unsafe_index", "aten::_unsafe_index_put"};
//: Those that synchronise if the indices are a mask; the others call nonzero.
const Names WRITING = {"aten::index_put", "aten::index_put_", "aten::_index_put_impl_", "aten::_unsafe_index_put"};
//: Operations whose result has a size or a branch that the host must know.
const Names SYNCHRONISING = {"aten::nonzero", "aten::masked_select", "aten::equal", "aten::is_nonzero",
                             "aten::_linalg_svd", "aten::_linalg_eigh", "aten::linalg_eigh", "aten::unique_dim",
                             "aten::_unique2", "aten::repeat_interleave", "aten::bincount"};
//: Operations that refuse even a single number from the host.
const Names STRICT = {"aten::cat", "aten::stack", "aten::mm", "aten::bmm", "aten::addmm", "aten::dot", "aten::equal",
                      "aten::index_add", "aten::gather", "aten::scatter", "aten::index_select",
                      "aten::linalg_solve_triangular", "aten::linalg_cholesky_ex"};

void check_placement(const std::string& name, const c10::Argument& argument, size_t position, const Tensor& tensor) {
  if (!tensor.is_cpu() || (tensor.dim() > 0 && position == 1 && INDEXING.count(name))) return;
  const bool written = argument.alias_info() && argument.alias_info()->isWrite();
  TORCH_CHECK(tensor.dim() == 0 && !written && !STRICT.count(name),
              "Expected all tensors to be on the same device, but found at least two devices, ", DEVICE,
              " and cpu! (argument ", argument.name(), " of ", name, ", of shape ", tensor.sizes(), ")");
}

void call(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const auto begin = stack->size() - arguments.size();
  const auto& name = op.schema().name();
  bool masked = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto& value = (*stack)[begin + i];
    auto check = [&](const Tensor& tensor) {
      if (!tensor.defined()) return;
      if (depth == 0) check_placement(name, arguments[i], i, tensor);
      masked |= i == 1 && WRITING.count(name) && tensor.scalar_type() == at::kBool;
    };
    if (value.isTensor()) check(value.toTensor());
    else if (value.isTensorList()) for (const auto& tensor : value.toTensorVector()) check(tensor);
    else if (value.isOptionalTensorList())
      for (const auto& tensor : value.toOptionalTensorVector()) check(tensor.value_or(Tensor()));
    else if (value.isGenerator()) {
      TORCH_CHECK(value.toGenerator().device() == DEVICE, "Expected a generator of ", DEVICE, ", got one of cpu: ", name);
      value = on_host(value.toGenerator());
    } else if (value.isNone() && arguments[i].name() == "generator") value = on_host(default_generator());
    else if (value.isInt() && arguments[i].name() == "dtype") check_type(static_cast<at::ScalarType>(value.toInt()));
  }
  count("launch " + name.substr(6));
  if (masked || SYNCHRONISING.count(name)) count("synchronise " + name.substr(6));
  Within within;
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

//: Operations that other devices compose of several, but accelerators do in one kernel.
const std::vector<std::string> SINGLE = {"silu_backward", "_foreach_add_.Scalar"};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const auto& name : SINGLE) m.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&call>());
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("_local_scalar_dense", item);
  m.impl("as_strided", as_strided);
  m.impl("resize_", resize_);
  m.impl("_reshape_alias", reshape_alias);
  m.impl("view", view);
  m.impl("unfold", unfold);
  m.impl("set_.source_Tensor", set_tensor);
  m.impl("set_.source_Storage", set_storage);
  m.impl("set_.source_Storage_storage_offset", set_part);
}
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&call>()); }
TORCH_LIBRARY_IMPL(_, AutogradPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY(second_device, m) {
  m.def("start() -> ()", [] { at::RegisterPrivateUse1HooksInterface(new Hooks()); });
  m.def("seed(int seed) -> ()", [](int64_t seed) { default_generator().set_current_seed(seed); });
  m.def("get_state() -> Tensor", [] { return default_generator().get_state(); });
  m.def("set_state(Tensor state) -> ()", [](const Tensor& state) { default_generator().set_state(state); });
  m.def("support_float64(bool supported) -> ()", [](bool supported) { has_float64 = supported; });
  m.def("take_counts() -> Dict(str, int)", [] {
    std::lock_guard<std::mutex> lock(counting);
    c10::Dict<std::string, int64_t> counts;
    for (const auto& [what, number] : counted) counts.insert(what, number);
    counted.clear();
    return counts;
  });
}

}  // namespace
