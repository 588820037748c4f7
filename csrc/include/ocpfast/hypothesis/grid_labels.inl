// Labels of a uniform grid. Included by grid_labels.hpp, once for each instruction set.
namespace ocp {
namespace OCP_INSTRUCTIONS {

// n states, no more than a Real holds.
template <class Real>
OCP_TARGET OCP_ALWAYS_INLINE void guess_some_labels(const std::vector<GuessedBins>& dimensions, std::int64_t extra,
                                                    std::int64_t n, const double* states, std::int64_t stride,
                                                    std::int64_t* labels) noexcept {
    constexpr double margin = 1e-5;      // from a whole number; guesses are off by 1.1e-6 at most
    constexpr double rounding = 0x1p52;  // what is added to it is rounded to an integer, which is then its last bits
    Real label{};
    Bits<Real> sure = ~Bits<Real>{};
    for (const GuessedBins& bins : dimensions) {
        Real value{};
        std::memcpy(&value, states, static_cast<std::size_t>(n) * sizeof(double));
        states += stride;
        // comparisons that a NaN fails leave it a NaN, and then it is not sure
        Real guess = value * bins.inverse_width + bins.offset;
        guess = guess < 0.5 ? Real{} + 0.5 : guess;
        guess = guess > bins.highest ? Real{} + bins.highest : guess;
        const Real bin = (guess + (rounding - 0.5)) - rounding;
        Real off_centre = guess - bin - 0.5;
        magnitude<Real>(off_centre, off_centre);
        Bits<Real> mask;
        is_below<Real>(mask, off_centre, 0.5 - margin);
        sure &= mask;
        label = label * bins.size + bin;
    }
    const Real whole = label + (rounding + static_cast<double>(extra));
    Bits<Real> bits;
    std::memcpy(&bits, &whole, sizeof bits);
    bits = ((bits & 0x000f'ffff'ffff'ffff) & sure) | ~sure;
    std::memcpy(labels, &bits, static_cast<std::size_t>(n) * sizeof(double));
}

template <class Real>
OCP_TARGET void guess_labels(const std::vector<GuessedBins>& dimensions, std::int64_t extra, std::int64_t n,
                             const double* states, std::int64_t* labels) noexcept {
    constexpr std::int64_t width = sizeof(Real) / sizeof(double);
    std::int64_t k = 0;
    for (; k + width <= n; k += width) guess_some_labels<Real>(dimensions, extra, width, states + k, n, labels + k);
    if (k < n) guess_some_labels<Real>(dimensions, extra, n - k, states + k, n, labels + k);
}

}  // namespace OCP_INSTRUCTIONS
}  // namespace ocp
