// LayerSet beside std::set, on random insertions, deletions and questions.
#include "ocpfast/agent/layer_set.hpp"

#include <cstdint>
#include <iterator>
#include <set>

#include "check.hpp"
#include "random.hpp"

namespace {

std::int64_t below(const std::set<std::int64_t>& members, std::int64_t layer) {
    const auto above = members.lower_bound(layer);
    return above == members.begin() ? -1 : *std::prev(above);
}

}  // namespace

TEST(layer_set) {
    core::Draw draw(1);
    for (const std::int64_t n : {1, 2, 63, 64, 65, 128, 4095, 4096, 4097, 300'000}) {
        ocp::LayerSet layers(n);
        std::set<std::int64_t> expected;
        for (int i = 0; i < core::cases(20'000); ++i) {
            const std::int64_t layer = draw.below(n);
            if (draw.chance(0.5)) {
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
            const std::int64_t asked = draw.below(n + 1);
            CHECK(layers.below(asked) == below(expected, asked));
            CHECK(layers.empty() == expected.empty());
        }
    }
}
