// A set of layers that is gone through downwards and never allocates: bits, and bits that say which words have some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace ocp {

class LayerSet {
public:
    LayerSet() = default;
    explicit LayerSet(std::int64_t n_layers)
        : n_layers_(n_layers), words_(static_cast<std::size_t>(n_layers) / 64 + 1), used_(words_.size() / 64 + 1) {}

    bool empty() const { return below(n_layers_) < 0; }

    void insert(std::int64_t layer) {
        const std::size_t word = static_cast<std::size_t>(layer) / 64;
        words_[word] |= bit(static_cast<std::size_t>(layer));
        used_[word / 64] |= bit(word);
    }

    void erase(std::int64_t layer) {
        const std::size_t word = static_cast<std::size_t>(layer) / 64;
        words_[word] &= ~bit(static_cast<std::size_t>(layer));
        if (words_[word] == 0) used_[word / 64] &= ~bit(word);
    }

    // The largest member below a layer, or -1.
    std::int64_t below(std::int64_t layer) const {
        const std::int64_t word = highest_below(words_, layer);
        if (word >= 0) return word;
        const std::int64_t last = highest_below_in_words(layer / 64);
        return last < 0 ? -1 : 64 * last + highest_bit(words_[static_cast<std::size_t>(last)]);
    }

    template <class Archive>
    void archive(Archive& a) {
        std::set<std::int64_t> members;
        for (std::int64_t layer = below(n_layers_); layer >= 0; layer = below(layer)) members.insert(layer);
        a.indices(members, 0, n_layers_);
        for (const std::int64_t layer : members) insert(layer);
    }

private:
    static std::uint64_t bit(std::size_t number) { return std::uint64_t{1} << number % 64; }

    // The position of the highest bit; there is one.
    static std::int64_t highest_bit(std::uint64_t bits) {
#if defined(__GNUC__)
        return 63 - __builtin_clzll(bits);
#else
        std::int64_t n = 0;
        while (bits >>= 1) ++n;
        return n;
#endif
    }

    // The largest member below a number and in the same word, or -1.
    static std::int64_t highest_below(const std::vector<std::uint64_t>& words, std::int64_t number) {
        const auto n = static_cast<std::size_t>(number);
        if (n % 64 == 0) return -1;
        const std::uint64_t lower = words[n / 64] & (bit(n) - 1);
        return lower == 0 ? -1 : number / 64 * 64 + highest_bit(lower);
    }

    // The last word before one that has a member, or -1.
    std::int64_t highest_below_in_words(std::int64_t word) const {
        const std::int64_t near = highest_below(used_, word);
        if (near >= 0) return near;
        for (std::int64_t i = word / 64 - 1; i >= 0; --i) {
            if (used_[static_cast<std::size_t>(i)] != 0)
                return 64 * i + highest_bit(used_[static_cast<std::size_t>(i)]);
        }
        return -1;
    }

    std::int64_t n_layers_ = 0;
    std::vector<std::uint64_t> words_{0}, used_{0};
};

}  // namespace ocp
