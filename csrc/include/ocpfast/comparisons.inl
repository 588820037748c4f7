// Comparisons of Reals, number by number: all bits set where they hold. Included once for each instruction set.
namespace ocp {
namespace OCP_INSTRUCTIONS {

template <class Real>
OCP_TARGET OCP_ALWAYS_INLINE void magnitude(Real& magnitude, const Real& value) noexcept {
    Bits<Real> bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits &= 0x7fff'ffff'ffff'ffff;
    std::memcpy(&magnitude, &bits, sizeof bits);
}

template <class Real>
OCP_TARGET OCP_ALWAYS_INLINE void is_below(Bits<Real>& below, const Real& value, double bound) noexcept {
    if constexpr (sizeof(Real) == sizeof(double)) {
        below = value < bound ? ~Bits<Real>{0} : 0;
    } else {
        const auto result = value < bound;  // signed integers
        std::memcpy(&below, &result, sizeof below);
    }
}

template <class Real>
OCP_TARGET OCP_ALWAYS_INLINE void is_at_least(Bits<Real>& at_least, const Real& value, const Real& bound) noexcept {
    if constexpr (sizeof(Real) == sizeof(double)) {
        at_least = value >= bound ? ~Bits<Real>{0} : 0;
    } else {
        const auto result = value >= bound;
        std::memcpy(&at_least, &result, sizeof at_least);
    }
}

// Whether each has its first bit set.
template <class Real>
OCP_TARGET OCP_ALWAYS_INLINE bool all_first_bits(const Bits<Real>& bits) noexcept {
    std::uint64_t parts[sizeof(Real) / sizeof(double)];
    std::memcpy(parts, &bits, sizeof parts);
    std::uint64_t all = parts[0];
    for (const std::uint64_t part : parts) all &= part;
    return all >> 63 != 0;
}

}  // namespace OCP_INSTRUCTIONS
}  // namespace ocp
