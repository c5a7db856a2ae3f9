// What a kernel is asked to look at, one thing after the other, and the question before each whether to go on.
#pragma once
#include <chrono>

#include "view.hpp"

namespace semistruct {

/// Thrown where a kernel is to stop.
struct Stopped {};

/// Numbers of sequences, and who says when to stop.
struct Which {
  Reads<Index> numbers;
  Reads<bool> stop;       // (1,) set by another thread; or empty
  bool (*interrupted)();  // asked every tenth of a second
  mutable std::chrono::steady_clock::time_point asked = std::chrono::steady_clock::now();

  /// Throw Stopped once `stop` is set or `interrupted` says so.
  void check() const {
    if (!stop.empty() && *const_cast<const volatile bool*>(stop.data)) throw Stopped();
    const auto now = std::chrono::steady_clock::now();
    if (now - asked < std::chrono::milliseconds(100)) return;
    asked = now;
    if (interrupted()) throw Stopped();
  }

  /// act(i, memory) for each number; what it takes of the memory is free again after it.
  template <class Act>
  void each(Act act) const {
    Memory memory;
    for (Index i : numbers) {
      check();
      const Memory::Scope scope(memory);
      act(i, memory);
    }
  }

  /// act(p, i, memory) for the sequences i = bounds(p) .. bounds(p+1)-1 of each piece p.
  template <class Act>
  void each(Reads<Index> bounds, Act act) const {
    Memory memory;
    for (Index p : numbers)
      for (Index i = bounds(p); i < bounds(p + 1); ++i) {
        check();
        const Memory::Scope scope(memory);
        act(p, i, memory);
      }
  }
};

}  // namespace semistruct
