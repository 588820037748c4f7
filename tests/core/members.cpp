// Nearly dependent features: an orthonormal basis of them, sums of multiples of them, and what equalities tell.
// Features are whole numbers times powers of two, so that what must come out is known exactly.
#include "ocpfast/hypothesis/members.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "check.hpp"
#include "ocpfast/hypothesis/basis.hpp"
#include "ocpfast/hypothesis/pins.hpp"
#include "ocpfast/hypothesis/proof.hpp"
#include "random.hpp"

namespace {

using core::Draw;

constexpr std::size_t dimension = 5, n_members = 3;
using Feature = std::vector<double>;

// So many features that differ by multiples of 2^-exponent.
std::vector<Feature> nearly_equal(Draw& draw, std::int64_t exponent) {
    Feature common(dimension);
    for (double& part : common) part = static_cast<double>(draw.between(1, 7));
    std::vector<Feature> features(n_members, common);
    for (std::size_t k = 0; k < n_members; ++k) {
        features[k][k] += std::ldexp(1.0, static_cast<int>(-exponent));  // independent whatever is added to all
        if (k > 0) features[k][dimension - 1] += std::ldexp(static_cast<double>(draw.between(0, 3)), -30);
    }
    return features;
}

Feature sum_of(const std::vector<Feature>& features, const std::vector<double>& multipliers) {
    Feature sum(dimension, 0.0);
    for (std::size_t k = 0; k < features.size(); ++k) {
        for (std::size_t i = 0; i < dimension; ++i) sum[i] += multipliers[k] * features[k][i];
    }
    return sum;
}

TEST(a_basis_of_nearly_equal_vectors_is_orthonormal) {
    Draw draw(3);
    for (int i = 0; i < core::cases(2'000); ++i) {
        ocp::Basis basis(dimension);
        Feature coefficients;
        for (Feature& feature : nearly_equal(draw, draw.between(0, 36))) {
            basis.split(feature, coefficients);
            basis.add(feature, ocp::length(feature.data(), dimension));
        }
        for (std::size_t k = 0; k < n_members; ++k) {
            for (std::size_t l = 0; l <= k; ++l) {
                CHECK(std::abs(ocp::dot(basis[k], basis[l], dimension) - (k == l)) < 1e-14);
            }
        }
    }
}

TEST(members_add_up) {
    Draw draw(1);
    for (int i = 0; i < core::cases(2'000); ++i) {
        const auto exponent = draw.between(0, 36);
        const auto features = nearly_equal(draw, exponent);
        ocp::Members members(dimension);
        ocp::Twofold rest, multipliers;
        Feature left;
        for (const Feature& feature : features) {
            rest.assign(dimension, {});
            ocp::add_multiple(1, feature.data(), rest);
            members.split(rest, multipliers);
            ocp::round(rest, left);
            members.add(feature.data(), left, ocp::length(left.data(), dimension));
        }
        CHECK(members.size() == n_members);
        std::vector<double> expected;
        for (std::size_t k = 0; k < n_members; ++k) expected.push_back(static_cast<double>(draw.between(-9, 9)));
        const Feature feature = sum_of(features, expected);
        rest.assign(dimension, {});
        ocp::add_multiple(1, feature.data(), rest);
        members.split(rest, multipliers);
        ocp::round(rest, left);
        CHECK(ocp::length(left.data(), dimension) < 1e-22);
        for (std::size_t k = 0; k < n_members; ++k) CHECK(std::abs(multipliers[k].value() - expected[k]) < 1e-10);
    }
}

// theta of 2^exponent makes what features differ by as large as any value.
// A made-up file can bring features that are none.
TEST(members_and_what_is_no_number) {
    for (const double odd : {std::nan(""), ocp::infinity, -ocp::infinity, 1e200}) {
        for (std::size_t size = 0; size <= 2; ++size) {
            ocp::Members members(2);
            const Feature first{1, 0}, second{1, 0x1p-20}, direction{0, 1};
            if (size > 0) members.add(first.data(), first, 1);
            if (size > 1) members.add(second.data(), direction, 0x1p-20);
            ocp::Twofold rest(2), multipliers;
            const Feature feature{1, odd};
            ocp::add_multiple(1, feature.data(), rest);
            members.split(rest, multipliers);  // comes to an end
            CHECK(multipliers.size() == size);
        }
    }
}

TEST(pins_of_nearly_equal_features) {
    Draw draw(2);
    int n_pinned = 0;
    for (int i = 0; i < core::cases(2'000); ++i) {
        const auto exponent = draw.between(0, 36);
        const auto features = nearly_equal(draw, exponent);
        std::vector<double> values, multipliers;
        ocp::Pins pins(dimension, {});
        for (const Feature& feature : features) {
            values.push_back(static_cast<double>(draw.between(-9, 9)));
            CHECK(pins.add(feature.data(), values.back()) == ocp::Pins::Standing::free);
            multipliers.push_back(static_cast<double>(draw.between(-9, 9)));
        }
        double expected = 0;
        for (std::size_t k = 0; k < n_members; ++k) expected += multipliers[k] * values[k];
        const Feature feature = sum_of(features, multipliers);
        ocp::Pins::Reduced reduced;
        CHECK(pins.reduce(feature.data(), 1, reduced) == ocp::Pins::Standing::pinned);
        CHECK(std::abs(reduced.constant - expected) <= 1e-9);
        ++n_pinned;
    }
    CHECK(n_pinned == core::cases(2'000));
}

// Members of which each is far from the others, and all together nearly dependent: v_1, v_1 + h v_2, v_2 + h v_3, ...
// for whole v. A theta of 256^4 makes rounding of a feature as large as values.
TEST(pins_of_a_chain_of_features) {
    Draw draw(4);
    int n_pinned = 0;
    for (int i = 0; i < core::cases(2'000); ++i) {
        std::vector<Feature> whole(dimension, Feature(dimension, 0.0)), members;
        for (std::size_t k = 0; k < dimension; ++k) {
            for (double& part : whole[k]) part = static_cast<double>(draw.between(-2, 2));
            whole[k][k] = 9;  // so that they are independent
        }
        ocp::Pins pins(dimension, {});
        std::vector<double> multipliers;
        double expected = 0;
        for (std::size_t k = 0; k < dimension; ++k) {
            members.push_back(k == 0 ? whole[0] : sum_of({whole[k - 1], whole[k]}, {1, 0x1p-8}));
            const auto value = static_cast<double>(draw.between(-9, 9));
            CHECK(pins.add(members[k].data(), value) == ocp::Pins::Standing::free);
            multipliers.push_back(static_cast<double>(draw.between(-9, 9)));
            expected += multipliers[k] * value;
        }
        const Feature feature = sum_of(members, multipliers);
        ocp::Pins::Reduced reduced;
        if (pins.reduce(feature.data(), 1, reduced) != ocp::Pins::Standing::pinned) continue;
        CHECK(std::abs(reduced.constant - expected) <= 1e-8);
        ++n_pinned;
    }
    CHECK(n_pinned == core::cases(2'000));
}

// The numbers are whole, but for what two features leave of each other: none of three is told by the other two. One of
// them cannot take the place of a member without which the third would be nothing.
TEST(pins_lose_no_member) {
    const Feature first{1, 0}, second{0, 1}, third{1e-14, 1};
    ocp::Pins pins(2, {});
    pins.add(first.data(), 1.5e22);
    pins.add(second.data(), -1.4999999e8);
    pins.add(third.data(), 10);
    CHECK(pins.size() == 2);
}

TEST(proofs_with_rows_that_have_one_end) {
    const Feature first{1, 0}, second{0, 1};
    ocp::Pins pins(2, {});
    ocp::Proof proof(2, {});
    const auto proved = [&](double of_second) {
        proof.begin(pins);
        proof.aim(1, first.data());
        proof.aim(of_second, second.data());
        proof.use(1, first.data(), -ocp::infinity, 3);
        proof.use(-1e-11, first.data(), -ocp::infinity, 5);  // the other end than the one that is there: rounding
        proof.use(1e-11, second.data(), -ocp::infinity, 7);
        return proof.bound();
    };
    CHECK(proved(0) == 3);  // the second is not needed
    CHECK(proved(1e-17) == 3);
    CHECK(proved(0.5) == 6.5);
    CHECK(proved(-0.5) == ocp::infinity);
}

// A row that depends on those before it is taken as many times as it says; they fill up what is left.
TEST(proofs_with_rows_that_depend_on_others) {
    const Feature first{1, 0}, second{0, 1}, both{1, 1};
    ocp::Pins pins(2, {});
    ocp::Proof proof(2, {});
    const auto proved = [&](double times_both) {
        proof.begin(pins);
        proof.aim(1, both.data());
        proof.use(1, first.data(), -ocp::infinity, 3);
        proof.use(1, second.data(), -ocp::infinity, 4);
        proof.use(times_both, both.data(), 1, 5);
        return proof.bound();
    };
    CHECK(proved(1) == 5);
    CHECK(proved(0.5) == 1.5 + 2 + 2.5);
    CHECK(proved(-0.25) == 3.75 + 5 - 0.25);
}

// What two nearly equal features leave uncertain is known once it is observed, and so are the two.
TEST(pins_change_place) {
    const double apart = 0x1p-24;
    const Feature first{1, 0}, second{1, apart}, third{0, 1};
    ocp::Pins pins(2, {});
    ocp::Pins::Reduced reduced;
    CHECK(pins.add(first.data(), 3) == ocp::Pins::Standing::free);
    CHECK(pins.add(second.data(), 3 + apart) == ocp::Pins::Standing::free);
    CHECK(pins.n_certain(0) == 1);
    CHECK(pins.add(third.data(), 1 + 0x1p-29) == ocp::Pins::Standing::uncertain);
    CHECK(pins.size() == 2 && pins.n_certain(0) == 2);
    for (const auto& [feature, value] : {std::pair{first, 3.0}, {second, 3 + apart}, {third, 1 + 0x1p-29}}) {
        CHECK(pins.reduce(feature.data(), 1, reduced) == ocp::Pins::Standing::pinned);
        CHECK(std::abs(reduced.constant - value) < 1e-14);
    }
}

}  // namespace
