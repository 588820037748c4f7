// Marks beside std::set, with rounds of one byte, whose numbers start again every 255 rounds.
#include "ocpfast/agent/marks.hpp"

#include <cstdint>
#include <set>

#include "check.hpp"
#include "random.hpp"

TEST(marks) {
    core::Draw draw(1);
    std::int64_t n = 1000;  // so many that some are not marked for 255 rounds, where old marks would seem new
    ocp::Marks<std::uint8_t> marks(n);
    std::set<std::int64_t> expected;
    for (int i = 0; i < core::cases(20'000); ++i) {
        if (draw.chance(0.5)) {
            marks.clear();
            expected.clear();
        } else if (n < 1100 && draw.chance(0.01)) {
            marks.add_point(n++);
        }
        const std::int64_t point = draw.below(n);
        CHECK(marks.mark(point) == expected.insert(point).second);
    }
}
