// 64 hypotheses of a finite class at a time, one bit each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "ocpfast/hypothesis/finite_tables.hpp"

namespace ocp {

inline constexpr std::size_t word_size = 64;

// The position of the lowest bit; there is one.
inline unsigned lowest_bit(std::uint64_t bits) {
#if defined(__GNUC__)
    return static_cast<unsigned>(__builtin_ctzll(bits));
#else
    unsigned n = 0;
    for (; (bits & 1) == 0; bits >>= 1) ++n;
    return n;
#endif
}

// Up to eight bits are faster looked at one by one, more of them all 64 at once.
inline bool few_bits(std::uint64_t bits) {
    for (int k = 0; k < 8; ++k) bits &= bits - 1;
    return bits == 0;
}

// Which of the bits belong to values that a constraint admits; of other bits it says nothing. With one_by_one, only the
// values of set bits are read.
template <class T>
std::uint64_t admitted_bits(const T* column, std::uint64_t bits, bool one_by_one, const Admitted<T>& admitted) {
    std::uint64_t result = 0;
    if (one_by_one) {
        for (; bits != 0; bits &= bits - 1) {
            const unsigned k = lowest_bit(bits);
            result |= static_cast<std::uint64_t>(admitted.contains(column[k])) << k;
        }
        return result;
    }
    std::uint8_t contained[word_size];
    for (std::size_t k = 0; k < word_size; ++k) contained[k] = admitted.contains(column[k]);
    for (std::size_t k = 0; k < word_size; k += 8) {
        std::uint64_t eight = 0;
        for (std::size_t i = 0; i < 8; ++i) eight |= static_cast<std::uint64_t>(contained[k + i]) << (8 * i);
        result |= ((eight * 0x0102040810204080u) >> 56) << k;  // one bit of each byte, side by side
    }
    return result;
}

// The extremes of the hypotheses whose bits are set, column after column. Where they are many, all 64 are looked at in
// lanes, which compilers turn into vector instructions: those that are not set are moved out of the way by adding or
// subtracting infinity.
template <class T>
class Word {
public:
    void begin(std::uint64_t bits, bool one_by_one) {
        bits_ = bits;
        one_by_one_ = one_by_one;
        std::fill(largest_, largest_ + word_size, -far);
        if (one_by_one) return;
        static constexpr T away[16][4] = {
            {far, far, far, far}, {0, far, far, far}, {far, 0, far, far}, {0, 0, far, far},
            {far, far, 0, far},   {0, far, 0, far},   {far, 0, 0, far},   {0, 0, 0, far},
            {far, far, far, 0},   {0, far, far, 0},   {far, 0, far, 0},   {0, 0, far, 0},
            {far, far, 0, 0},     {0, far, 0, 0},     {far, 0, 0, 0},     {0, 0, 0, 0},
        };
        for (std::size_t base = 0; base < word_size; base += 4) {
            std::copy(away[bits >> base & 15], away[bits >> base & 15] + 4, moved_ + base);
        }
    }

    // The smallest and the largest value in a column.
    std::pair<T, T> look_at(const T* __restrict column) {
        if (one_by_one_) return look_at_each(column);
        T lower[word_size], upper[word_size];
        for (std::size_t k = 0; k < word_size; ++k) lower[k] = column[k] + moved_[k];
        for (std::size_t k = 0; k < word_size; ++k) upper[k] = column[k] - moved_[k];
        for (std::size_t k = 0; k < word_size; ++k) largest_[k] = column[k] > largest_[k] ? column[k] : largest_[k];
        return {smallest_of(lower), largest_of(upper)};
    }

    // The smallest, over hypotheses, of the largest in the columns looked at.
    T least() const {
        T result = far;
        if (one_by_one_) {
            for (std::uint64_t left = bits_; left != 0; left &= left - 1) {
                result = std::min(result, largest_[lowest_bit(left)]);
            }
            return result;
        }
        T lower[word_size];
        for (std::size_t k = 0; k < word_size; ++k) lower[k] = largest_[k] + moved_[k];
        return smallest_of(lower);
    }

private:
    static constexpr T far = std::numeric_limits<T>::infinity();

    std::pair<T, T> look_at_each(const T* column) {
        T lower = far, upper = -far;
        for (std::uint64_t left = bits_; left != 0; left &= left - 1) {
            const unsigned k = lowest_bit(left);
            const T value = column[k];
            lower = value < lower ? value : lower;
            upper = value > upper ? value : upper;
            largest_[k] = value > largest_[k] ? value : largest_[k];
        }
        return {lower, upper};
    }
    // Half by half: loops of fixed length over arrays of their own, which compilers turn into vector instructions.
    template <std::size_t half = word_size / 2>
    static T smallest_of(T* values) {
        for (std::size_t k = 0; k < half; ++k) {
            values[k] = values[k + half] < values[k] ? values[k + half] : values[k];
        }
        if constexpr (half == 1)
            return values[0];
        else
            return smallest_of<half / 2>(values);
    }
    template <std::size_t half = word_size / 2>
    static T largest_of(T* values) {
        for (std::size_t k = 0; k < half; ++k) {
            values[k] = values[k + half] > values[k] ? values[k + half] : values[k];
        }
        if constexpr (half == 1)
            return values[0];
        else
            return largest_of<half / 2>(values);
    }

    std::uint64_t bits_ = 0;
    bool one_by_one_ = false;
    T moved_[word_size];    // 0 where the bit is set, else infinity
    T largest_[word_size];  // in the columns looked at
};

}  // namespace ocp
