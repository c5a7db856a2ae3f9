// From Python objects to views and structs: `define` makes a Python function of a C++ function.
//
// A parameter that is a View takes a C-ordered array of its element type and number of axes; a struct takes a named
// tuple with its fields in order; Which takes an array, or an array and a flag (1,) that makes the function stop;
// numbers take numbers.  Anything else is refused with a sentence that names the function and the argument.  The GIL
// is released while the function runs, and now and then taken to look for signals; the arguments keep their arrays
// alive.
#pragma once
#include <nanobind/nanobind.h>

#include <cstring>
#include <deque>
#include <string>
#include <tuple>
#include <variant>

#include "fields.hpp"
#include "work.hpp"

namespace semistruct::bind {

namespace nb = nanobind;

inline std::string text_of(const nb::object& object) { return nb::str(nb::handle(object)).c_str(); }

/// What is being converted: an argument, or a field of the tuple that is converted at another place.
struct Place {
  const char* function;
  const char* argument;
  const Place* outer = nullptr;
  nb::handle tuple{};
  Py_ssize_t field = 0;

  /// For messages: "scorer.offsets".
  std::string name() const {
    if (outer == nullptr) return argument;
    const bool named = nb::hasattr(tuple, "_fields");
    return outer->name() + "." + (named ? text_of(tuple.attr("_fields")[field]) : std::to_string(field));
  }

  [[noreturn]] void refuse(const std::string& wanted, const std::string& found) const {
    PyErr_Clear();
    throw nb::type_error((std::string(function) + ": " + name() + " must be " + wanted + ", not " + found).c_str());
  }
};

/// The buffers of the arguments of one call, released when it ends.
class Buffers {
 public:
  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() {
    while (used_ > 0) PyBuffer_Release(&held_[--used_]);
  }

  /// The buffer of an object; null if it has none of this kind.
  const Py_buffer* get(nb::handle object, int flags) {
    if (used_ == held_.size()) throw std::length_error("too many arrays in one call");
    return PyObject_GetBuffer(object.ptr(), &held_[used_], flags) == 0 ? &held_[used_++] : nullptr;
  }

 private:
  std::array<Py_buffer, 64> held_;
  std::size_t used_ = 0;
};

template <class T>
constexpr bool is_view = false;
template <class T, std::size_t N>
constexpr bool is_view<View<T, N>> = true;

using Floats = std::variant<View<float>, View<double>>;

/// The name of a type of elements in numpy.
template <class T>
std::string dtype_of() {
  if constexpr (!std::is_arithmetic_v<T>) return "void";
  if constexpr (std::is_same_v<T, bool>) return "bool";
  const char* kind = std::is_floating_point_v<T> ? "float" : std::is_signed_v<T> ? "int" : "uint";
  return kind + std::to_string(8 * sizeof(T));
}

/// Whether the elements of a buffer are of a type: its size, and a letter of the module `struct`, or T for records.
template <class T>
bool has_type(const Py_buffer& buffer) {
  if (buffer.itemsize != static_cast<Py_ssize_t>(sizeof(T)) || buffer.format == nullptr) return false;
  if constexpr (!std::is_arithmetic_v<T>) return buffer.format[0] == 'T';
  const char* letters = std::is_floating_point_v<T> ? "fd" : std::is_signed_v<T> ? "bhilq" : "BHILQ";
  if (std::is_same_v<T, bool>) letters = "?";
  return std::strlen(buffer.format) == 1 && std::strchr(letters, buffer.format[0]) != nullptr;
}

template <class T, std::size_t N>
void convert_to(View<T, N>& out, nb::handle object, const Place& place, Buffers& buffers) {
  using Element = std::remove_const_t<T>;
  const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (std::is_const_v<T> ? 0 : PyBUF_WRITABLE);
  const Py_buffer* buffer = buffers.get(object, flags);
  if (buffer == nullptr || buffer->ndim != static_cast<int>(N) || !has_type<Element>(*buffer)) {
    PyErr_Clear();
    const bool plain = std::is_arithmetic_v<Element>;
    std::string wanted = plain ? dtype_of<Element>() : std::to_string(sizeof(T)) + "-byte records";
    wanted = "a C-ordered array of " + wanted + " with " + std::to_string(N) + (N == 1 ? " axis" : " axes");
    std::string found = Py_TYPE(object.ptr())->tp_name;
    if (nb::hasattr(object, "dtype"))
      found = text_of(object.attr("dtype")) + " with shape " + text_of(object.attr("shape"));
    place.refuse(wanted + (std::is_const_v<T> ? "" : " to write to"), found);
  }
  out.data = static_cast<T*>(buffer->buf);
  std::copy(buffer->shape, buffer->shape + N, out.shape.begin());
}

inline void convert_to(Floats& out, nb::handle object, const Place& place, Buffers& buffers) {
  const Py_buffer* buffer = buffers.get(object, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS);
  if (buffer != nullptr && buffer->itemsize == sizeof(float)) out = View<float>();
  else out = View<double>();
  PyErr_Clear();
  std::visit([&](auto& view) { convert_to(view, object, place, buffers); }, out);
}

/// A signal was caught, and its handler in Python raised an error.
inline bool interrupted() {
  const nb::gil_scoped_acquire held;
  return PyErr_CheckSignals() != 0;
}

inline void convert_to(Which& out, nb::handle object, const Place& place, Buffers& buffers) {
  const bool pair = PyTuple_Check(object.ptr()) && PyTuple_GET_SIZE(object.ptr()) == 2;
  convert_to(out.numbers, pair ? object[0] : object, place, buffers);
  if (pair) convert_to(out.stop, object[1], place, buffers);
  out.interrupted = interrupted;
}

inline void convert_to(bool& out, nb::handle object, const Place& place, Buffers&) {
  const int truth = PyObject_IsTrue(object.ptr());
  if (truth < 0) place.refuse("true or false", Py_TYPE(object.ptr())->tp_name);
  out = truth == 1;
}

inline void convert_to(Index& out, nb::handle object, const Place& place, Buffers&) {
  out = PyLong_AsLongLong(object.ptr());
  if (out == -1 && PyErr_Occurred()) place.refuse("an integer", Py_TYPE(object.ptr())->tp_name);
}

inline void convert_to(double& out, nb::handle object, const Place& place, Buffers&) {
  out = PyFloat_AsDouble(object.ptr());
  if (out == -1.0 && PyErr_Occurred()) place.refuse("a number", Py_TYPE(object.ptr())->tp_name);
}

/// Gives the fields of a named tuple one after the other, each as the type that is asked for.
struct Source {
  nb::handle tuple;
  const Place& place;
  Buffers& buffers;
  Py_ssize_t at = 0;

  bool is_used_up() const { return at == PyTuple_GET_SIZE(tuple.ptr()); }

  template <class T>
  operator T();
};

template <class T>
T converted(nb::handle object, const Place& place, Buffers& buffers) {
  if constexpr (is_view<T> || std::is_arithmetic_v<T> || std::is_same_v<T, Floats> || std::is_same_v<T, Which>) {
    T out{};
    convert_to(out, object, place, buffers);
    return out;
  } else {
    if (!PyTuple_Check(object.ptr())) place.refuse("a named tuple", Py_TYPE(object.ptr())->tp_name);
    Source source{object, place, buffers};
    T out = make<T>(source);
    if (!source.is_used_up())
      place.refuse("a tuple with fewer fields", std::to_string(PyTuple_GET_SIZE(object.ptr())) + " fields");
    return out;
  }
}

template <class T>
Source::operator T() {
  if (is_used_up()) place.refuse("a tuple with more fields", std::to_string(at) + " fields");
  const Place inside{place.function, nullptr, &place, tuple, at++};
  return converted<T>(PyTuple_GET_ITEM(tuple.ptr(), inside.field), inside, buffers);
}

/// A type as a stub writes it.
template <class T>
std::string stub_type() {
  if constexpr (std::is_void_v<T>) return "None";
  else if constexpr (std::is_same_v<T, bool>) return "bool";
  else if constexpr (std::is_integral_v<T>) return "int";
  else if constexpr (std::is_floating_point_v<T>) return "float";
  else if constexpr (std::is_same_v<T, Which>) return "numpy.typing.NDArray[numpy.int64] | tuple[typing.Any, ...]";
  else if constexpr (is_view<T>)
    return "numpy.typing.NDArray[numpy." + dtype_of<std::remove_const_t<typename T::Element>>() + "]" +
           (std::is_same_v<typename T::Element, const std::uint8_t> ? " | bytes" : "");
  else return "tuple[typing.Any, ...]";
}

template <class Result, class... Args, std::size_t... At>
nb::object call(Result (*function)(Args...), const char* name, const std::vector<std::string>& names, nb::args given,
                std::index_sequence<At...>) {
  if (given.size() != sizeof...(Args))
    throw nb::type_error((std::string(name) + " takes " + std::to_string(sizeof...(Args)) + " arguments, not " +
                          std::to_string(given.size())).c_str());
  Buffers buffers;
  std::tuple<std::decay_t<Args>...> arguments{
      converted<std::decay_t<Args>>(given[At], {name, names[At].c_str()}, buffers)...};
  try {
    if constexpr (std::is_void_v<Result>) {
      const nb::gil_scoped_release free;
      std::apply(function, arguments);
    } else {
      const auto run = [&] {
        const nb::gil_scoped_release free;
        return std::apply(function, arguments);
      };
      return nb::cast(run());
    }
  } catch (const Stopped&) {
    if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  return nb::none();
}

/// Put `function` into the module under `name`; `names` are those of its arguments, separated by ", ".
template <class Result, class... Args>
void define(nb::module_& module, const char* name, const std::string& names, Result (*function)(Args...)) {
  std::vector<std::string> listed;
  for (std::size_t at = 0, end; at <= names.size(); at = end + 2) {
    end = std::min(names.find(", ", at), names.size());
    listed.push_back(names.substr(at, end - at));
  }
  if (listed.size() != sizeof...(Args)) throw std::logic_error(std::string(name) + ": one name per argument");
  static std::deque<std::string> signatures;  // nanobind keeps the pointer
  std::string words = std::string("def ") + name + "(";
  std::size_t at = 0;
  ((words += (at ? ", " : "") + listed[at] + ": " + stub_type<std::decay_t<Args>>(), ++at), ...);
  const auto run = [function, name, listed](nb::args given) {
    return call(function, name, listed, given, std::index_sequence_for<Args...>());
  };
  module.def(name, run, nb::sig(signatures.emplace_back(words + ", /) -> " + stub_type<Result>()).c_str()));
}

}  // namespace semistruct::bind
