// What the fuzz targets share: bytes as choices and numbers, and how a fault is told.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

// A fault ends the program, so that the fuzzer keeps the bytes that led to it.
inline void check(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "fault: %s\n", what);
    std::abort();
}

// Reads choices from bytes; after their end all choices are 0.
class Input {
public:
    Input(const std::uint8_t* data, std::size_t size) : next_(data), left_(size) {}

    bool empty() const { return left_ == 0; }
    std::uint8_t byte() {
        if (left_ == 0) return 0;
        --left_;
        return *next_++;
    }
    bool flag() { return byte() % 2 == 1; }
    std::int64_t below(std::int64_t n) { return byte() % n; }

    template <class Number>
    Number raw() {
        std::uint8_t bytes[sizeof(Number)];
        for (std::uint8_t& one : bytes) one = byte();
        Number number;
        std::memcpy(&number, bytes, sizeof number);
        return number;
    }

    // Mostly one of a few numbers, so that they meet: small ones, and those at which arithmetic is special.
    double real() {
        constexpr double limits[] = {std::numeric_limits<double>::infinity(),
                                     -std::numeric_limits<double>::infinity(),
                                     -0.0,
                                     std::numeric_limits<double>::denorm_min(),
                                     -std::numeric_limits<double>::denorm_min(),
                                     std::numeric_limits<double>::min(),
                                     std::numeric_limits<double>::max(),
                                     std::numeric_limits<double>::lowest(),
                                     1e100,
                                     -1e100,
                                     1e-9,
                                     0x1p52,
                                     0.1,
                                     1.0 / 3};
        constexpr std::int64_t n_limits = sizeof limits / sizeof *limits;
        const std::int64_t choice = byte();
        if (choice < 160) return static_cast<double>(choice % 16 - 8);
        if (choice < 160 + 4 * n_limits) return limits[(choice - 160) / 4];
        if (choice < 240) return std::nextafter(static_cast<double>(choice % 8 - 4), choice % 2 == 0 ? 1e300 : -1e300);
        return raw<double>();
    }

private:
    const std::uint8_t* next_;
    std::size_t left_;
};

}  // namespace fuzz
