// What was found wrong with a kernel, for the executor: a fault ends the launch, a note does not.
#pragma once

#include <cutegen_emulator/errors.hpp>

namespace cutegen_emu __attribute__((visibility("hidden"))) {

// As cutegen.status.Status has them: the names are read by the executor.
enum class Fault {
  kLaunchError,
  kEnvironment,
  kOutOfBounds,
  kMisaligned,
  kRace,
  kUninitialized,
  kDeadlock,
  kDivergence,
  kSmemLimit,
};

inline char const* name_of(Fault fault) {
  switch (fault) {
    case Fault::kLaunchError: return "LAUNCH_ERROR";
    case Fault::kEnvironment: return "ENVIRONMENT";
    case Fault::kOutOfBounds: return "OUT_OF_BOUNDS";
    case Fault::kMisaligned: return "MISALIGNED";
    case Fault::kRace: return "RACE";
    case Fault::kUninitialized: return "UNINITIALIZED";
    case Fault::kDeadlock: return "DEADLOCK";
    case Fault::kDivergence: return "DIVERGENCE";
    case Fault::kSmemLimit: return "SMEM_LIMIT";
  }
  return "LAUNCH_ERROR";
}

// What a cudaError_t alone says about the fault.
inline Fault fault_of(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress: return Fault::kOutOfBounds;
    case cudaErrorMisalignedAddress: return Fault::kMisaligned;
    case cudaErrorInvalidKernelImage: return Fault::kSmemLimit;
    case cudaErrorNotSupported: return Fault::kEnvironment;
    default: return Fault::kLaunchError;
  }
}

// The reports since the executor last asked. A record is "fault" or "note", then the status, the
// kernel, a summary and further lines, separated by \x1f; records are separated by \x1e.
class ReportBook {
 public:
  static constexpr size_t kMost = 16 << 10;  // bytes; a kernel may have a note in every block

  void add(char const* weight, Fault fault, std::string const& kernel, std::string const& text) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::string record =
        std::string(weight) + '\x1f' + name_of(fault) + '\x1f' + kernel + '\x1f' + text;
    if (text_.find(record) != std::string::npos || text_.size() + record.size() > kMost) return;
    text_ += (text_.empty() ? "" : "\x1e") + record;
  }

  // Everything so far; it stays readable until the next call.
  char const* take() {
    std::lock_guard<std::mutex> lock(mutex_);
    taken_.swap(text_);
    text_.clear();
    return taken_.c_str();
  }

 private:
  std::mutex mutex_;
  std::string text_;
  std::string taken_;
};

inline ReportBook& report_book() {
  static ReportBook* book = new ReportBook;  // never destroyed: threads may outlive statics
  return *book;
}

// `text` is a summary, then further lines after \x1f. The log of the process has it as well.
inline void report(char const* weight, Fault fault, std::string const& kernel,
                   std::string const& text) {
  report_book().add(weight, fault, kernel, text);
  std::string plain = text;
  for (size_t at; (at = plain.find('\x1f')) != std::string::npos;) plain.replace(at, 1, "\n  ");
  fprintf(stderr, "cutegen emulator: %s in %s: %s\n", name_of(fault), kernel.c_str(),
          plain.c_str());
}

}  // namespace cutegen_emu

extern "C" __attribute__((used, visibility("default"))) inline char const*
cutegen_emulator_report() {
  return cutegen_emu::report_book().take();
}
