// Sigmoid classes, what is learned: Q_t(x,a) = psi(phi(t,x,a).theta) with psi the logistic function.
//
// Rewards come at the end of an episode alone, so Q_t(x,a) = max_b Q_{t+1}(x',b) before it, and psi, which increases,
// can be left out everywhere: a sigmoid class is a linear class of logits, from the first constraint on. Values are
// never turned into probabilities and back, which would lose all digits near 0 and 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "ocpfast/hypothesis/linear.hpp"

namespace ocp {

class LogisticLink {
public:
    static constexpr const char* expected_reward = "0 before the end of an episode and a number in [0, 1] at its end";

    // clip: rewards are moved into [clip, 1 - clip]. As it increases, this commutes with max.
    explicit LogisticLink(double clip) : clip_(clip) {}

    static bool accepts(double reward, bool terminal) { return terminal ? reward >= 0 && reward <= 1 : reward == 0; }

    double value(double reward) const {  // the logit
        const double p = std::min(std::max(reward, clip_), 1 - clip_);
        return std::log(p) - std::log1p(-p);
    }
    static double reward(double value) {  // psi
        return value >= 0 ? 1 / (1 + std::exp(-value)) : std::exp(value) / (1 + std::exp(value));
    }

    double clip() const { return clip_; }

private:
    double clip_;
};

class Sigmoid : public Linear {
public:
    using Link = LogisticLink;

    Sigmoid(Linear logits, LogisticLink link) : Linear(std::move(logits)), link_(link) {}

    const LogisticLink& link() const { return link_; }

    static constexpr const char* kind = "a sigmoid";
    template <class Archive>
    void archive(Archive& a) {
        a.same(link_.clip(), "clip");
        Linear::archive(a);
    }

private:
    LogisticLink link_;
};

}  // namespace ocp
