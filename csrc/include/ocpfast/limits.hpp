// How large rewards, values and features may be.
#pragma once

#include <cmath>

namespace ocp {

// Values are sums of fewer than 2^63 rewards and a prior bound: with these limits none overflows, nor does a product of
// two of them. Rewards alone stay below 1e99. Linear classes that cannot represent Q* may drive values apart without
// end: there one beyond 1e100 says nothing.
inline constexpr double largest_reward = 1e80, largest_value = 1e100;
// In units of the scale that features are said to have: nor does a product of two of these.
inline constexpr double largest_feature = 1e100;

inline bool is_reward(double reward) {
    return std::abs(reward) <= largest_reward;  // not NaN, either
}
// What to say of one that is not.
inline const char* instead_of_reward(double reward) {
    return std::isfinite(reward) ? "a number of at most 1e80 in size" : "a finite number";
}

}  // namespace ocp
