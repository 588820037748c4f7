// What has been learned as bytes, and back: no Python, no files.
//
// Every class of which state is kept has one member function that names its fields,
//
//     template <class Archive>
//     void archive(Archive& a) {
//         a(period_, waiting_);        // numbers, bools, containers, classes that have an archive of their own
//         a.fixed(upper_);             // a vector whose length the description gives: runs of equal numbers are short
//         a.index(point_, -1, n_);     // what is used as an index: in -1 .. n_ - 1
//         a.counts(n_episodes_);       // what is counted on
//     }
//
// and which serves to save and to load, so that the two cannot disagree. To load is to make the object anew from its
// description and to read the fields into it. Bytes are little-endian, on machines of 64 bits.
//
// A reader trusts nothing. It never reads beyond the end, never allocates more than a small multiple of the bytes there
// are, or of what the description needs anyway; sizes and indices are checked where classes name them. So bytes that
// somebody made up may give an agent that knows nonsense, is slow, or fails when it solves something, but none that
// touches memory that is not its own. Against accidents there is a checksum: `sealed` and `unseal`.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ocp {

// Of the fields that classes archive and their order: another number for every change.
inline constexpr std::uint32_t archive_version = 2;

class ArchiveError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// CRC-32 as zlib, PNG and Ethernet have it: every language can check it, and it finds every change of up to 32
// neighbouring bits. A byte at a time is enough: 400 MB/s, where a disk takes longer.
inline std::uint32_t crc32(std::string_view bytes) {
    static const std::array<std::uint32_t, 256> table = [] {
        std::array<std::uint32_t, 256> t{};
        for (std::uint32_t i = 0; i < 256; ++i) {
            t[i] = i;
            for (int bit = 0; bit < 8; ++bit) t[i] = (t[i] >> 1) ^ ((t[i] & 1) != 0 ? 0xedb88320u : 0u);
        }
        return t;
    }();
    std::uint32_t crc = 0xffffffffu;
    for (const char byte : bytes) crc = table[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff] ^ (crc >> 8);
    return ~crc;
}

template <bool Loading>
class BasicArchive {
public:
    static constexpr bool loading = Loading;

    BasicArchive() = default;                                         // to write
    explicit BasicArchive(std::string_view bytes) : input_(bytes) {}  // to read; they must outlive it

    const std::string& bytes() const { return output_; }
    std::size_t remaining() const { return input_.size(); }

    template <class... Fields>
    void operator()(Fields&... fields) {
        (field(fields), ...);
    }

    // ---- what is checked ---------------------------------------------------------------------------------------

    void require(bool holds, const char* what) const {
        if (!holds) throw ArchiveError(std::string("damaged: ") + what);
    }

    // An integer in first .. end - 1.
    template <class Integer, class First, class End>
    void index(Integer& value, First first, End end) {
        field(value);
        require_index(value, first, end);
    }
    template <class Integer, class First, class End>
    void require_index(Integer value, First first, End end) const {
        const auto wide = static_cast<std::int64_t>(value);
        require(wide >= static_cast<std::int64_t>(first) && wide < static_cast<std::int64_t>(end), "an index");
    }
    // Numbers that are counted on from where they are: not negative, and so far from overflow that nothing gets there.
    template <class... Integers>
    void counts(Integers&... values) {
        (count(values), ...);
    }
    template <class Container, class First, class End>
    void indices(Container& values, First first, End end) {
        field(values);
        for (const auto value : values) require_index(value, first, end);
    }

    // An enumerator; they are numbered from 0 to the last.
    template <class Enum>
    void choice(Enum& value, Enum last) {
        auto number = static_cast<std::uint8_t>(value);
        field(number);
        require(number <= static_cast<std::uint8_t>(last), "an option");
        value = static_cast<Enum>(number);
    }

    // What the description has and a file must agree with.
    template <class Value>
    void same(const Value& value, const char* name) {
        std::conditional_t<std::is_enum_v<Value>, std::int64_t, Value> copy{};
        if constexpr (std::is_enum_v<Value>) {
            copy = static_cast<std::int64_t>(value);
        } else {
            copy = value;
        }
        const auto expected = copy;
        field(copy);
        if (!(copy == expected)) throw ArchiveError(std::string("made for another ") + name);
    }

    // ---- vectors whose length the description gives --------------------------------------------------------------

    template <class Number>
    void fixed(std::vector<Number>& values) {
        fixed(values, values.size());
    }
    // Empty, or of the length given.
    template <class Number>
    void fixed_or_empty(std::vector<Number>& values, std::size_t length) {
        bool there = !values.empty();
        field(there);
        if (!there) {
            values.clear();
            return;
        }
        if constexpr (Loading) values.resize(length);
        fixed(values, length);
    }
    // A vector of structs, field by field: members are pointers to them, or functions that return a reference.
    template <class Struct, class... Members>
    void columns(std::vector<Struct>& values, const Members&... members) {
        size_must_be(values.size());
        (column(values, members), ...);
    }
    // Objects that are there already.
    template <class Container>
    void items(Container& values) {
        size_must_be(values.size());
        for (auto& value : values) field(value);
    }

    // The same, where most of them are empty.
    template <class Container>
    void sparse_items(std::vector<Container>& values) {
        std::vector<std::uint8_t> filled(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) filled[i] = !values[i].empty();
        fixed(filled);
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (filled[i] != 0) {
                field(values[i]);
            } else {
                values[i] = Container();
            }
        }
    }

    // ---- sizes, for classes that do more than name fields ----------------------------------------------------------

    // A number of things of which each takes a byte or more.
    std::size_t size(std::size_t n) {
        n = static_cast<std::size_t>(varint(n));
        if constexpr (Loading) require(n <= remaining(), "a size");
        return n;
    }

    void finish() const { require(input_.empty(), "there is more than there should be"); }

private:
    template <class T, class = void>
    struct HasArchive : std::false_type {};
    template <class T>
    struct HasArchive<T, std::void_t<decltype(std::declval<T&>().archive(std::declval<BasicArchive&>()))>>
        : std::true_type {};

    void count(std::int64_t& value) {
        field(value);
        require(value >= 0 && value < std::int64_t{1} << 53, "a number");
    }

    template <class T>
    void field(T& value) {
        if constexpr (std::is_same_v<T, bool>) {
            auto number = static_cast<std::uint8_t>(value);
            field(number);
            require(number <= 1, "a flag");
            value = number != 0;
        } else if constexpr (std::is_arithmetic_v<T>) {
            raw(&value, 1);
        } else {
            static_assert(HasArchive<T>::value, "a class without archive()");
            value.archive(*this);
        }
    }
    template <class T>
    void field(std::vector<T>& values) {
        const std::size_t n = size(values.size());
        if constexpr (std::is_arithmetic_v<T>) {
            if constexpr (Loading) {
                require(n <= remaining() / sizeof(T), "a size");
                values.resize(n);
            }
            raw(values.data(), n);
        } else {
            sequence(values, n);
        }
    }
    template <class T>
    void field(std::deque<T>& values) {
        sequence(values, size(values.size()));
    }
    template <class A, class B>
    void field(std::pair<A, B>& pair) {
        field(pair.first);
        field(pair.second);
    }
    template <class... T>
    void field(std::tuple<T...>& tuple) {
        std::apply([this](auto&... parts) { (*this)(parts...); }, tuple);
    }
    template <class T>
    void field(std::set<T>& values) {
        if constexpr (Loading) {
            values.clear();
            for (std::size_t n = size(0); n > 0; --n) {
                T value{};
                field(value);
                values.insert(values.end(), std::move(value));
            }
        } else {
            size(values.size());
            for (T value : values) field(value);
        }
    }
    template <class K, class V>
    void field(std::map<K, V>& values) {
        keyed(values, values);
    }
    // In the order of keys: the same content is the same bytes.
    template <class K, class V>
    void field(std::unordered_map<K, V>& values) {
        if constexpr (Loading) {
            keyed(values, values);
        } else {
            std::map<K, std::reference_wrapper<V>> ordered;
            for (auto& [key, value] : values) ordered.emplace(key, value);
            keyed(values, ordered);
        }
    }

    template <class Container>
    void sequence(Container& values, std::size_t n) {
        if constexpr (Loading) {
            values.clear();
            for (; n > 0; --n) field(values.emplace_back());  // grows as there are bytes for it
        } else {
            for (auto& value : values) field(value);
        }
    }
    template <class Map, class Ordered>
    void keyed(Map& values, Ordered& ordered) {
        if constexpr (Loading) {
            values.clear();
            for (std::size_t n = size(0); n > 0; --n) {
                typename Map::key_type key{};
                field(key);
                require(key == key, "a key");  // NaN has no place in an order
                field(values[std::move(key)]);
            }
        } else {
            size(values.size());
            for (auto& [key, value] : ordered) {
                typename Map::key_type copy = key;
                field(copy);
                field(static_cast<typename Map::mapped_type&>(value));
            }
        }
    }

    void size_must_be(std::size_t expected) {
        if (varint(expected) != expected) throw ArchiveError("made for a class of another size");
    }

    template <class Number>
    void fixed(std::vector<Number>& values, std::size_t length) {
        size_must_be(length);
        runs(values.data(), length);
    }

    template <class Struct, class Member>
    void column(std::vector<Struct>& values, const Member& member) {
        using Value = std::remove_reference_t<decltype(std::invoke(member, std::declval<Struct&>()))>;
        using Stored = std::conditional_t<std::is_same_v<Value, bool>, std::uint8_t, Value>;
        std::vector<Stored> one(values.size());
        for (std::size_t i = 0; i < one.size(); ++i) one[i] = static_cast<Stored>(std::invoke(member, values[i]));
        runs(one.data(), one.size());
        if constexpr (Loading) {
            for (std::size_t i = 0; i < one.size(); ++i) {
                if constexpr (std::is_same_v<Value, bool>) require(one[i] <= 1, "a flag");
                std::invoke(member, values[i]) = static_cast<Value>(one[i]);
            }
        }
    }

    // Runs of equal numbers, bit by bit: an odd header (2 n + 1) and the number; others: an even one and n numbers.
    template <class Number>
    void runs(Number* values, std::size_t n) {
        static_assert(std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>);
        if constexpr (Loading) {
            for (std::size_t done = 0; done < n;) {
                const std::uint64_t header = varint(0);
                const std::uint64_t count = header / 2;
                require(count > 0 && count <= n - done, "a size");
                const bool repeated = header % 2 == 1;
                raw(values + done, repeated ? 1 : static_cast<std::size_t>(count));
                if (repeated) std::fill(values + done + 1, values + done + count, values[done]);
                done += static_cast<std::size_t>(count);
            }
        } else {
            constexpr std::size_t worthwhile = 4;
            const auto put = [&](std::size_t first, std::size_t count, bool repeated) {
                if (count == 0) return;
                varint(2 * count + (repeated ? 1 : 0));
                raw(values + first, repeated ? 1 : count);
            };
            std::size_t others = 0;  // where those begin that were not written yet
            for (std::size_t i = 0; i < n;) {
                std::size_t end = i + 1;
                while (end < n && std::memcmp(values + i, values + end, sizeof(Number)) == 0) ++end;
                if (end - i >= worthwhile) {
                    put(others, i - others, false);
                    put(i, end - i, true);
                    others = end;
                }
                i = end;
            }
            put(others, n - others, false);
        }
    }

    // Seven bits a byte, the lowest first.
    std::uint64_t varint(std::uint64_t value) {
        if constexpr (Loading) {
            value = 0;
            for (unsigned shift = 0;; shift += 7) {
                std::uint8_t byte = 0;
                raw(&byte, 1);
                require(shift < 63 || byte <= 1, "a size");
                value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
                if (byte < 0x80) return value;
            }
        } else {
            std::uint64_t left = value;
            for (; left >= 0x80; left >>= 7) output_.push_back(static_cast<char>((left & 0x7f) | 0x80));
            output_.push_back(static_cast<char>(left));
            return value;
        }
    }

    template <class Number>
    void raw(Number* values, std::size_t n) {
        if (n == 0) return;
        if constexpr (Loading) {
            require(n <= remaining() / sizeof(Number), "it ends too early");
            std::memcpy(values, input_.data(), n * sizeof(Number));
            input_.remove_prefix(n * sizeof(Number));
            to_or_from_little_endian(values, n);
        } else {
            const std::size_t before = output_.size();
            output_.append(reinterpret_cast<const char*>(values), n * sizeof(Number));
            to_or_from_little_endian(&output_[before], n, sizeof(Number));
        }
    }

    template <class Number>
    static void to_or_from_little_endian([[maybe_unused]] Number* values, [[maybe_unused]] std::size_t n,
                                         [[maybe_unused]] std::size_t width = sizeof(Number)) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        auto* byte = reinterpret_cast<unsigned char*>(values);
        for (std::size_t i = 0; i < n; ++i, byte += width) std::reverse(byte, byte + width);
#endif
    }

    std::string output_;
    std::string_view input_;
};

using ArchiveWriter = BasicArchive<false>;
using ArchiveReader = BasicArchive<true>;

// ---- whole objects, with a checksum
// -----------------------------------------------------------------------------------

// The state of an object: what it is, the version, its fields, and a checksum over all of it.
template <class Object>
std::string sealed(const Object& object, std::string_view kind) {
    ArchiveWriter a;
    std::uint32_t version = archive_version;
    std::vector<char> name(kind.begin(), kind.end());
    a(version, name);
    a(const_cast<Object&>(object));  // a writer writes to nothing but its own bytes
    std::uint32_t checksum = crc32(a.bytes());
    a(checksum);
    return a.bytes();
}

// Reads the state into an object made from the same description. Where this throws the object must not be used.
template <class Object>
void unseal(Object& object, std::string_view kind, std::string_view bytes) {
    std::uint32_t checksum = 0;
    if (bytes.size() < sizeof checksum) throw ArchiveError("damaged: it ends too early");
    const std::string_view content = bytes.substr(0, bytes.size() - sizeof checksum);
    ArchiveReader end(bytes.substr(content.size()));
    end(checksum);
    if (checksum != crc32(content)) throw ArchiveError("damaged: its checksum is wrong");
    ArchiveReader a(content);
    std::uint32_t version = 0;
    a(version);
    if (version != archive_version) {
        throw ArchiveError("expected version " + std::to_string(archive_version) + " of what agents keep, got " +
                           std::to_string(version));
    }
    std::vector<char> name;
    a(name);
    if (std::string_view(name.data(), name.size()) != kind) {
        for (char& letter : name) letter = letter >= ' ' && letter <= '~' ? letter : '?';
        throw ArchiveError("expected the state of " + std::string(kind) + ", got that of " +
                           std::string(name.begin(), name.end()));
    }
    a(object);
    a.finish();
}

}  // namespace ocp
