// Numbers side by side: one source for one number and for as many as the processor takes at a time.
//
// A kernel is a template over `Real`: a double, or a vector of GCC's and Clang's extension, on which + - * / mean what
// they mean for each double alone, to the last bit. It stands in a file (.inl) that is included once for each
// instruction set, with
//     OCP_INSTRUCTIONS   the namespace of this set, in ocp
//     OCP_TARGET         the attribute that each function needs to be compiled for it
// as a template that is compiled for one set and inlined into a function for another has its vectors taken apart for
// the first (GCC 12: half as fast). Which of them runs is chosen at run time, so one build serves every processor.
// Vectors are passed by reference, as the convention for passing them by value depends on the instruction set.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#define OCP_X86 1
#else
#define OCP_X86 0
#endif

#if defined(__GNUC__) || defined(__clang__)
#define OCP_ALWAYS_INLINE inline __attribute__((always_inline))
#define OCP_NEVER_INLINE __attribute__((noinline))  // what is rare leaves the registers to what is not
#else
#define OCP_ALWAYS_INLINE inline
#define OCP_NEVER_INLINE
#endif

// Makes the compiler forget what it knows of the value of a double.
#if OCP_X86
#define OCP_HIDE_VALUE(value) __asm__("" : "+x"(value))
#else
#define OCP_HIDE_VALUE(value) ((void)0)
#endif

namespace ocp {

enum class Instructions { scalar, baseline, avx2, avx512 };

inline const char* name_of(Instructions instructions) noexcept {
    constexpr const char* names[] = {"scalar", "baseline", "avx2", "avx512"};
    return names[static_cast<int>(instructions)];
}

// The widest that both this processor and the compiler know, or less if OCPFAST_INSTRUCTIONS names less: so that all of
// them can be compared on one machine. Other names count for nothing.
inline Instructions best_instructions() noexcept {
    Instructions best = Instructions::scalar;
#if OCP_X86
    best = Instructions::baseline;
    if (__builtin_cpu_supports("avx2")) best = Instructions::avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) best = Instructions::avx512;
#endif
    const char* const wanted = std::getenv("OCPFAST_INSTRUCTIONS");
    for (int i = 0; wanted != nullptr && i < static_cast<int>(best); ++i) {
        if (std::strcmp(wanted, name_of(static_cast<Instructions>(i))) == 0) return static_cast<Instructions>(i);
    }
    return best;
}

// n doubles, and unsigned integers with as many bits as a Real.
#if OCP_X86
template <int n>
struct Lanes {
    typedef double Real __attribute__((vector_size(8 * n)));
};
template <class Real>
struct BitsOf {
    typedef std::uint64_t Type __attribute__((vector_size(sizeof(Real))));
};
#else
template <class Real>
struct BitsOf;
#endif
template <>
struct BitsOf<double> {
    using Type = std::uint64_t;
};
template <class Real>
using Bits = typename BitsOf<Real>::Type;

}  // namespace ocp
