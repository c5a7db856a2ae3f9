// From Python objects to views and structs: `define` makes a Python function of a C++ function.
//
// A parameter that is a View takes a C-ordered array of its element type and number of axes; a struct takes a named
// tuple with its fields in order (see `Fields`); numbers take numbers.  Anything else is refused with a sentence that
// names the function and the argument.  The GIL is released while the function runs; the arguments keep their arrays
// alive.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <deque>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "fields.hpp"

namespace semistruct::bind {

namespace nb = nanobind;

inline std::string text_of(nb::object object) {
  const nb::object text = nb::steal(PyObject_Str(object.ptr()));
  const char* letters = text.is_valid() ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  return letters == nullptr ? "?" : letters;
}

/// What is being converted: an argument, or a field of the tuple that is converted at another place.
struct Place {
  const char* function;
  const char* argument;
  const Place* outer = nullptr;
  PyObject* tuple = nullptr;
  Py_ssize_t field = 0;

  /// For messages: "scorer.offsets".
  std::string name() const {
    if (outer == nullptr) return argument;
    const bool named = PyObject_HasAttrString(tuple, "_fields");
    return outer->name() + "." + (named ? text_of(nb::handle(tuple).attr("_fields")[field]) : std::to_string(field));
  }

  [[noreturn]] void refuse(const std::string& wanted, const std::string& found) const {
    const std::string words = std::string(function) + ": " + name() + " must be " + wanted + ", not " + found;
    throw nb::type_error(words.c_str());
  }
};

template <class T>
struct TypeName;
// clang-format off
template <> struct TypeName<double> { static constexpr const char *dtype = "float64", *code = "d"; };
template <> struct TypeName<float> { static constexpr const char *dtype = "float32", *code = "f"; };
template <> struct TypeName<std::int64_t> { static constexpr const char *dtype = "int64", *code = "lq"; };
template <> struct TypeName<std::int32_t> { static constexpr const char *dtype = "int32", *code = "il"; };
template <> struct TypeName<std::int16_t> { static constexpr const char *dtype = "int16", *code = "h"; };
template <> struct TypeName<std::int8_t> { static constexpr const char *dtype = "int8", *code = "b"; };
template <> struct TypeName<std::uint8_t> { static constexpr const char *dtype = "uint8", *code = "B"; };
template <> struct TypeName<std::uint64_t> { static constexpr const char *dtype = "uint64", *code = "LQ"; };
template <> struct TypeName<bool> { static constexpr const char *dtype = "bool", *code = "?"; };
// clang-format on

/// The buffers of the arguments of one call, released when it ends.
class Buffers {
 public:
  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() {
    for (Index i = 0; i < used_; ++i) PyBuffer_Release(&held_[static_cast<std::size_t>(i)]);
  }

  Py_buffer* next() {
    if (used_ == static_cast<Index>(held_.size())) throw std::length_error("too many arrays in one call");
    return &held_[static_cast<std::size_t>(used_)];
  }
  void keep() { ++used_; }

 private:
  std::array<Py_buffer, 64> held_;
  Index used_ = 0;
};

inline std::string described(PyObject* object) {
  if (!PyObject_HasAttrString(object, "dtype")) return Py_TYPE(object)->tp_name;
  const nb::handle array(object);
  return text_of(array.attr("dtype")) + " with shape " + text_of(array.attr("shape"));
}

template <class T, class = void>
struct Convert;

/// Gives the fields of a named tuple one after the other, each as the type that is asked for.
class Source {
 public:
  Source(PyObject* tuple, const Place& place, Buffers& buffers) : tuple_(tuple), place_(place), buffers_(buffers) {}

  template <class T>
  operator T() {
    if (is_used_up()) place_.refuse("a tuple with more fields", std::to_string(at_) + " fields");
    const Place inside{place_.function, nullptr, &place_, tuple_, at_++};
    return Convert<T>::from(PyTuple_GET_ITEM(tuple_, inside.field), inside, buffers_);
  }
  bool is_used_up() const { return at_ == PyTuple_GET_SIZE(tuple_); }

 private:
  PyObject* tuple_;
  const Place& place_;
  Buffers& buffers_;
  Py_ssize_t at_ = 0;
};

template <class T, std::size_t N>
struct Convert<View<T, N>> {
  using Plain = std::remove_const_t<T>;

  static View<T, N> from(PyObject* object, const Place& place, Buffers& buffers) {
    Py_buffer* buffer = buffers.next();
    const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (std::is_const_v<T> ? 0 : PyBUF_WRITABLE);
    if (PyObject_GetBuffer(object, buffer, flags) != 0) {
      PyErr_Clear();
      place.refuse(wanted(), described(object));
    }
    buffers.keep();
    if (buffer->ndim != static_cast<int>(N) || !fits(*buffer)) place.refuse(wanted(), described(object));
    std::array<Index, N> shape{};
    for (std::size_t axis = 0; axis < N; ++axis) shape[axis] = buffer->shape[axis];
    return {static_cast<T*>(buffer->buf), shape};
  }

 private:
  static bool fits(const Py_buffer& buffer) {
    if (buffer.itemsize != static_cast<Py_ssize_t>(sizeof(Plain)) || buffer.format == nullptr) return false;
    if constexpr (std::is_arithmetic_v<Plain>)
      return std::strlen(buffer.format) == 1 && std::strchr(TypeName<Plain>::code, buffer.format[0]) != nullptr;
    else
      return buffer.format[0] == 'T';  // records
  }
  static std::string wanted() {
    std::string words = "a C-ordered array of ";
    if constexpr (std::is_arithmetic_v<Plain>)
      words += TypeName<Plain>::dtype;
    else
      words += std::to_string(sizeof(Plain)) + "-byte records";
    words += " with " + std::to_string(N) + (N == 1 ? " axis" : " axes");
    return words + (std::is_const_v<T> ? "" : " to write to");
  }
};

/// An array of 32 or 64 bits.
template <>
struct Convert<std::variant<View<float>, View<double>>> {
  static std::variant<View<float>, View<double>> from(PyObject* object, const Place& place, Buffers& buffers) {
    Py_buffer buffer;
    bool narrow = false;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) == 0) {
      narrow = buffer.itemsize == sizeof(float);
      PyBuffer_Release(&buffer);
    }
    PyErr_Clear();
    if (narrow) return Convert<View<float>>::from(object, place, buffers);
    return Convert<View<double>>::from(object, place, buffers);
  }
};

template <class T>
struct Convert<T, std::enable_if_t<std::is_same_v<T, bool>>> {
  static bool from(PyObject* object, const Place& place, Buffers&) {
    const int truth = PyObject_IsTrue(object);
    if (truth < 0) {
      PyErr_Clear();
      place.refuse("true or false", Py_TYPE(object)->tp_name);
    }
    return truth == 1;
  }
};

template <class T>
struct Convert<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  static T from(PyObject* object, const Place& place, Buffers&) {
    const long long value = PyLong_AsLongLong(object);
    if (value == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      place.refuse("an integer", Py_TYPE(object)->tp_name);
    }
    return static_cast<T>(value);
  }
};

template <>
struct Convert<double> {
  static double from(PyObject* object, const Place& place, Buffers&) {
    const double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      place.refuse("a number", Py_TYPE(object)->tp_name);
    }
    return value;
  }
};

template <class T>
struct Convert<T, std::void_t<decltype(&Fields<T>::template of<Source>)>> {
  static T from(PyObject* object, const Place& place, Buffers& buffers) {
    if (!PyTuple_Check(object)) place.refuse("a named tuple", Py_TYPE(object)->tp_name);
    Source source(object, place, buffers);
    T out = Fields<T>::of(source);
    if (!source.is_used_up())
      place.refuse("a tuple with fewer fields", std::to_string(PyTuple_GET_SIZE(object)) + " fields");
    return out;
  }
};

template <class T>
struct Stub;

/// A type as a stub writes it.
template <class T>
std::string stub_type() {
  if constexpr (std::is_void_v<T>)
    return "None";
  else if constexpr (std::is_same_v<T, bool>)
    return "bool";
  else if constexpr (std::is_integral_v<T>)
    return "int";
  else if constexpr (std::is_floating_point_v<T>)
    return "float";
  else
    return Stub<T>::name();
}

template <class T>
struct Stub {  // a struct: a named tuple
  static std::string name() { return "tuple[typing.Any, ...]"; }
};

template <class T, std::size_t N>
struct Stub<View<T, N>> {
  static std::string name() {
    if constexpr (std::is_arithmetic_v<std::remove_const_t<T>>)
      return std::string("numpy.typing.NDArray[numpy.") + TypeName<std::remove_const_t<T>>::dtype + "]" +
             (std::is_same_v<T, const std::uint8_t> ? " | bytes" : "");
    else
      return "numpy.typing.NDArray[numpy.void]";
  }
};

template <class... T>
struct Stub<std::tuple<T...>> {
  static std::string name() {
    std::string out;
    ((out += (out.empty() ? "" : ", ") + stub_type<T>()), ...);
    return "tuple[" + out + "]";
  }
};

/// The names of arguments: "which, scorer, known".
inline std::vector<std::string> split(const char* names) {
  std::vector<std::string> out(1);
  for (const char* letter = names; *letter; ++letter) {
    if (*letter == ',') {
      out.emplace_back();
      if (letter[1] == ' ') ++letter;
    } else {
      out.back() += *letter;
    }
  }
  return out;
}

template <class Result, class... Args, std::size_t... At>
nb::object call(Result (*function)(Args...), const char* name, const std::vector<std::string>& names, nb::args given,
                std::index_sequence<At...>) {
  if (given.size() != sizeof...(Args)) {
    const std::string words = std::string(name) + " takes " + std::to_string(sizeof...(Args)) + " arguments, not " +
                              std::to_string(given.size());
    throw nb::type_error(words.c_str());
  }
  Buffers buffers;
  std::tuple<std::decay_t<Args>...> converted{
      Convert<std::decay_t<Args>>::from(PyTuple_GET_ITEM(given.ptr(), static_cast<Py_ssize_t>(At)),
                                         {name, names[At].c_str()}, buffers)...};
  if constexpr (std::is_void_v<Result>) {
    nb::gil_scoped_release free;
    std::apply(function, converted);
    return nb::none();
  } else {
    Result out = [&] {
      nb::gil_scoped_release free;
      return std::apply(function, converted);
    }();
    return nb::cast(out);
  }
}

/// Put `function` into the module under `name`; `names` are those of its arguments, separated by commas.
template <class Result, class... Args>
void define(nb::module_& module, const char* name, const char* names, Result (*function)(Args...)) {
  const std::vector<std::string> listed = split(names);
  if (listed.size() != sizeof...(Args)) throw std::logic_error(std::string(name) + ": one name per argument");
  static std::deque<std::string> signatures;  // nanobind keeps the pointer
  std::string words = std::string("def ") + name + "(";
  std::size_t at = 0;
  ((words += (at ? ", " : "") + listed[at] + ": " + stub_type<std::decay_t<Args>>(), ++at), ...);
  signatures.push_back(words + ", /) -> " + stub_type<Result>());
  module.def(
      name,
      [function, name, listed](nb::args given) {
        return call(function, name, listed, given, std::index_sequence_for<Args...>());
      },
      nb::sig(signatures.back().c_str()));
}

}  // namespace semistruct::bind
