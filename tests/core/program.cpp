// One linear program that HiGHS solves: what a program that was saved does again, and what it does with a record that
// is none.
#include "ocpfast/lp/program.hpp"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "ocpfast/archive.hpp"

namespace {

using ocp::infinity;

// A square around 0 with a corner cut off: its rows do not make a box.
ocp::LinearProgram cut_square() {
    ocp::LinearProgram program(core::settings().highs, 2, {});
    program.add_row({1}, -1, 1);
    program.add_row({0, 1}, -1, 1);
    program.add_row({0.6, 0.8}, -infinity, 1);
    return program;
}

std::string bytes_of(ocp::LinearProgram& program) {
    ocp::BasicArchive<false> written;
    program.archive(written, 2);
    return written.bytes();
}

ocp::LinearProgram program_of(std::string_view bytes) {
    ocp::LinearProgram program(core::settings().highs, 2, {});
    ocp::BasicArchive<true> read(bytes);
    program.archive(read, 2);
    return program;
}

bool near(double value, double expected) {
    return std::abs(value - expected) < 1e-9;
}

}  // namespace

TEST(programs_with_a_record_that_is_none) {
    if (core::settings().highs == nullptr) return;
    ocp::LpStatistics statistics;
    ocp::LinearProgram program = cut_square();
    CHECK(near(program.maximise({0.6, 0.8}, infinity, statistics), 1));
    CHECK(near(program.maximise({0, 1}, infinity, statistics), 1));
    CHECK(near(program.minimise_maximum({{{1}, 0}, {{0, 1}, 0.5}}, -infinity, statistics), -0.5));
    CHECK(statistics.solved == 3);
    program.set_bounds(2, -infinity, 0.5);  // a model that was not told would answer 1
    const std::string bytes = bytes_of(program);

    // Every number of the record, whose events and the count of questions come last, becomes one that is none of its
    // kind; but for the row and bounds of the last event, which may be anything.
    const std::size_t n_numbers = 4 + 4 + (3 + 3 + 4) + 4 + 1;
    int n_refused = 0;
    for (std::size_t i = 1; i <= n_numbers; i += i == 1 ? 4 : 1) {
        for (const double odd : {9.0, -1.0, 1e9, std::nan("")}) {
            std::string changed = bytes;
            std::memcpy(&changed[changed.size() - 8 * i], &odd, sizeof odd);
            try {
                ocp::LinearProgram loaded = program_of(changed);
                // the set is as it was, whatever the record says was asked
                CHECK(near(loaded.maximise({0.6, 0.8}, infinity, statistics), 0.5));
                CHECK(near(loaded.maximise({1, 0}, infinity, statistics), 1));
            } catch (const ocp::ArchiveError&) {
                ++n_refused;
            }
        }
    }
    CHECK(n_refused == 4);  // the count; what else there is wrong is found when it is done again
}
