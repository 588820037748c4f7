// A random generator for programs without NumPy: NumPy's PCG64 and the SeedSequence that seeds it, number for number. A
// seed gives the bits that it gives in Python, so runs there and here agree, and a generator can go from one to the
// other (checkpoint.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ocpfast/system.h"

namespace ocp {

// An unsigned integer of 128 bits, as far as the generator needs it.
struct Wide {
    std::uint64_t high = 0, low = 0;

    friend bool operator==(const Wide& a, const Wide& b) { return a.high == b.high && a.low == b.low; }
    friend Wide operator+(const Wide& a, const Wide& b) {
        const std::uint64_t sum = a.low + b.low;
        return {a.high + b.high + (sum < a.low ? 1 : 0), sum};
    }
    friend Wide operator*(const Wide& a, const Wide& b) {
        const Wide product = of_product(a.low, b.low);
        return {product.high + a.high * b.low + a.low * b.high, product.low};
    }

private:
    static Wide of_product(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
        __extension__ typedef unsigned __int128 Product;
        const Product product = static_cast<Product>(a) * b;
        return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
#else
        const std::uint64_t half = 0xffffffffu;
        const std::uint64_t low = (a & half) * (b & half), cross = (a >> 32) * (b & half) + (low >> 32);
        const std::uint64_t middle = (a & half) * (b >> 32) + (cross & half);
        return {(a >> 32) * (b >> 32) + (cross >> 32) + (middle >> 32), a * b};
#endif
    }
};

class Pcg64 {
public:
    struct State {
        Wide state, increment;
        // half of a number of which the other half was asked for
        bool has_uint32 = false;
        std::uint32_t uinteger = 0;
    };

    // numpy.random.PCG64(seed), or with a key PCG64(SeedSequence(seed, spawn_key=key)).
    explicit Pcg64(std::uint64_t seed = 0, const std::vector<std::uint32_t>& key = {}) {
        const std::array<std::uint64_t, 4> words = seed_words(seed, key);
        // as the generator's authors start it: two steps, the first from zero
        const Wide sequence{words[2], words[3]};
        state_.increment = {(sequence.high << 1) | (sequence.low >> 63), (sequence.low << 1) | 1};
        step();
        state_.state = state_.state + Wide{words[0], words[1]};
        step();
    }
    explicit Pcg64(const State& state) : state_(state) {}

    // The streams that ocpfast.run(..., rng=seed) gives to a simulation.
    static Pcg64 of_system(std::uint64_t seed, std::uint32_t simulation) { return Pcg64(seed, {0, simulation, 0}); }
    static Pcg64 of_agent(std::uint64_t seed, std::uint32_t simulation) { return Pcg64(seed, {0, simulation, 1}); }

    std::uint64_t next_uint64() {
        step();
        const std::uint64_t mixed = state_.state.high ^ state_.state.low, turn = state_.state.high >> 58;
        return (mixed >> turn) | (mixed << ((64 - turn) & 63));
    }
    std::uint32_t next_uint32() {
        if (state_.has_uint32) {
            state_.has_uint32 = false;
            return state_.uinteger;
        }
        const std::uint64_t both = next_uint64();
        state_.has_uint32 = true;
        state_.uinteger = static_cast<std::uint32_t>(both >> 32);
        return static_cast<std::uint32_t>(both);
    }
    double next_double() { return static_cast<double>(next_uint64() >> 11) * 0x1p-53; }  // uniform on [0, 1)

    const State& state() const { return state_; }

    // As systems and agents take it. It draws from this object, which must stay where it is.
    ocp_bitgen bitgen() {
        const auto next = [](void* self) { return static_cast<Pcg64*>(self)->next_uint64(); };
        return {this, next, [](void* self) { return static_cast<Pcg64*>(self)->next_uint32(); },
                [](void* self) { return static_cast<Pcg64*>(self)->next_double(); }, next};
    }

private:
    void step() {
        constexpr Wide multiplier{0x2360ed051fc65da4u, 0x4385df649fccf645u};
        state_.state = state_.state * multiplier + state_.increment;
    }

    // SeedSequence: the seed's and the key's words are hashed into a pool of four, from which as many are drawn as are
    // wanted.
    static std::array<std::uint64_t, 4> seed_words(std::uint64_t seed, const std::vector<std::uint32_t>& key) {
        constexpr std::size_t pool_size = 4;
        std::vector<std::uint32_t> entropy{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
        entropy.resize(pool_size);  // missing words are zeros
        entropy.insert(entropy.end(), key.begin(), key.end());

        std::uint32_t constant = 0x43b0d7e5u;
        const auto hash = [&constant](std::uint32_t value) {
            value ^= constant;
            constant *= 0x931e8875u;
            value *= constant;
            return value ^ (value >> 16);
        };
        const auto mix = [](std::uint32_t x, std::uint32_t y) {
            const std::uint32_t mixed = 0xca01f9ddu * x - 0x4973f715u * y;
            return mixed ^ (mixed >> 16);
        };
        std::array<std::uint32_t, pool_size> pool{};
        for (std::size_t i = 0; i < pool_size; ++i) pool[i] = hash(entropy[i]);
        for (std::size_t from = 0; from < pool_size; ++from) {
            for (std::size_t to = 0; to < pool_size; ++to) {
                if (from != to) pool[to] = mix(pool[to], hash(pool[from]));
            }
        }
        for (std::size_t i = pool_size; i < entropy.size(); ++i) {
            for (std::uint32_t& word : pool) word = mix(word, hash(entropy[i]));
        }

        constant = 0x8b51f9ddu;
        std::array<std::uint64_t, 4> words{};
        for (std::size_t i = 0; i < 2 * words.size(); ++i) {
            std::uint32_t word = pool[i % pool_size] ^ constant;
            constant *= 0x58f38dedu;
            word *= constant;
            word ^= word >> 16;
            words[i / 2] |= static_cast<std::uint64_t>(word) << (32 * (i % 2));
        }
        return words;
    }

    State state_;
};

}  // namespace ocp
