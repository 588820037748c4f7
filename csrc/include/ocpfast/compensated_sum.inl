// One addition. Included by compensated_sum.hpp, once for each instruction set.
namespace ocp {
namespace OCP_INSTRUCTIONS {

template <class Real>
OCP_TARGET OCP_ALWAYS_INLINE void add_compensated(Real& sum, Real& lost, const Real& term) noexcept {
    const Real total = sum + term;
    const Real added = total - sum;
    lost += (sum - (total - added)) + (term - added);
    sum = total;
}

}  // namespace OCP_INSTRUCTIONS
}  // namespace ocp
