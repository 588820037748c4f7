// LayerSet beside std::set, on random insertions, deletions and questions; test_kernels.py compiles and runs it.
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <random>
#include <set>

#include "ocpfast/agent/layer_set.hpp"

namespace {

std::int64_t below(const std::set<std::int64_t>& members, std::int64_t layer) {
    const auto above = members.lower_bound(layer);
    return above == members.begin() ? -1 : *std::prev(above);
}

}  // namespace

int main() {
    std::mt19937_64 random(1);
    const auto draw = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    for (const std::int64_t n : {1, 2, 63, 64, 65, 128, 4095, 4096, 4097, 300'000}) {
        ocp::LayerSet layers(n);
        std::set<std::int64_t> expected;
        for (int i = 0; i < 20'000; ++i) {
            const std::int64_t layer = draw(n);
            if (draw(2) == 0) {
                layers.insert(layer);
                expected.insert(layer);
            } else if (const std::int64_t member = below(expected, layer + 1); member >= 0) {
                layers.erase(member);
                expected.erase(member);
            }
            if (expected.size() > 30) {  // mostly empty, so that answers are far away
                layers.erase(*expected.begin());
                expected.erase(expected.begin());
            }
            const std::int64_t asked = draw(n + 1);
            if (layers.below(asked) != below(expected, asked) || layers.empty() != expected.empty()) {
                std::printf("%lld layers: below(%lld) is %lld\n", static_cast<long long>(n),
                            static_cast<long long>(asked), static_cast<long long>(layers.below(asked)));
                return 1;
            }
        }
    }
    return 0;
}
