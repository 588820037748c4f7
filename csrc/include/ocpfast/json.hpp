// JSON, as much as the header of a checkpoint needs: read strictly, kept as a tree, written back. Numbers are kept as
// they are written, because the state of a generator is an integer of 128 bits. Our own, so that who embeds the headers
// needs nothing else.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ocpfast/archive.hpp"
#include "ocpfast/pcg64.hpp"

namespace ocp {

class Json {
public:
    enum class Kind { null, boolean, number, string, list, object };

    Json() = default;
    static Json boolean(bool value) { return Json(Kind::boolean, value ? "true" : "false"); }
    static Json string(std::string value) { return Json(Kind::string, std::move(value)); }
    static Json integer(std::int64_t value) { return Json(Kind::number, std::to_string(value)); }
    static Json wide(Wide value) {
        std::string digits;
        do {
            // long division by ten, 32 bits at a time
            std::uint64_t rest = 0;
            for (std::uint64_t* word : {&value.high, &value.low}) {
                const std::uint64_t upper = (rest << 32) | (*word >> 32);
                const std::uint64_t lower = ((upper % 10) << 32) | (*word & 0xffffffffu);
                *word = (upper / 10) << 32 | lower / 10;
                rest = lower % 10;
            }
            digits.insert(digits.begin(), static_cast<char>('0' + rest));
        } while (!(value == Wide{}));
        return Json(Kind::number, digits);
    }
    // Python's infinities and NaN are objects; see ocpfast/saving.py.
    static Json real(double value) {
        if (std::isnan(value)) return object({{"$float", string("nan")}});
        if (std::isinf(value)) return object({{"$float", string(value > 0 ? "inf" : "-inf")}});
        std::ostringstream text;
        text.imbue(std::locale::classic());
        text.precision(std::numeric_limits<double>::max_digits10);
        text << value;
        std::string digits = text.str();
        if (digits.find_first_of(".e") == std::string::npos) digits += ".0";  // a float to Python too
        return Json(Kind::number, digits);
    }
    static Json list(std::vector<Json> items) {
        Json result(Kind::list, "");
        result.items_ = std::move(items);
        return result;
    }
    static Json object(std::vector<std::pair<std::string, Json>> members) {
        Json result(Kind::object, "");
        for (auto& [key, value] : members) result.set(key, std::move(value));
        return result;
    }

    static Json parse(std::string_view text) {
        Reader reader{text};
        Json result = reader.value(0);
        reader.skip_space();
        if (!reader.left.empty()) throw ArchiveError("damaged: there is more than JSON");
        return result;
    }
    std::string text() const {
        std::string out;
        write(out);
        return out;
    }

    // ---- what it is; errors where it is something else ------------------------------------------------------------

    Kind kind() const { return kind_; }
    bool is_null() const { return kind_ == Kind::null; }
    bool truth() const { return expect(Kind::boolean).text_ == "true"; }
    const std::string& str() const { return expect(Kind::string).text_; }
    // For messages: a file can have any bytes in it.
    std::string shown() const {
        std::string result = str().substr(0, 200);
        for (char& letter : result) letter = letter >= ' ' && letter <= '~' ? letter : '?';
        return result;
    }

    std::int64_t integer() const {
        const std::string& digits = expect(Kind::number).text_;
        const bool negative = digits[0] == '-';
        const Wide size = wide_of(std::string_view(digits).substr(negative ? 1 : 0));
        if (size.high != 0 || size.low > static_cast<std::uint64_t>(INT64_MAX)) throw ArchiveError("damaged: a number");
        const auto value = static_cast<std::int64_t>(size.low);
        return negative ? -value : value;
    }
    Wide wide() const { return wide_of(expect(Kind::number).text_); }
    double real() const {
        if (const Json* special = find("$float")) {
            const std::string& name = special->str();
            if (name == "inf") return std::numeric_limits<double>::infinity();
            if (name == "-inf") return -std::numeric_limits<double>::infinity();
            throw ArchiveError("damaged: a number");
        }
        std::istringstream text(expect(Kind::number).text_);
        text.imbue(std::locale::classic());  // a comma in the user's language is no matter here
        double value = 0;
        text >> value;
        if (text.fail() || !text.eof()) throw ArchiveError("damaged: a number");
        return value;
    }

    const std::vector<Json>& items() const { return expect(Kind::list).items_; }
    const Json& at(std::size_t i) const {
        if (i >= items().size()) throw ArchiveError("damaged: a list is too short");
        return items_[i];
    }

    const Json* find(std::string_view key) const {
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            if (keys_[i] == key) return &items_[i];
        }
        return nullptr;
    }
    const Json& at(std::string_view key) const {
        const Json* const found = expect(Kind::object).find(key);
        if (found == nullptr) throw ArchiveError("damaged: there is no \"" + std::string(key) + '"');
        return *found;
    }
    void set(const std::string& key, Json value) {
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            if (keys_[i] == key) {
                items_[i] = std::move(value);
                return;
            }
        }
        keys_.push_back(key);
        items_.push_back(std::move(value));
    }

private:
    Json(Kind kind, std::string text) : kind_(kind), text_(std::move(text)) {}

    const Json& expect(Kind kind) const {
        constexpr const char* names[] = {"null", "true or false", "a number", "a string", "a list", "an object"};
        if (kind_ != kind) {
            throw ArchiveError(std::string("damaged: expected ") + names[static_cast<std::size_t>(kind)] + ", got " +
                               names[static_cast<std::size_t>(kind_)]);
        }
        return *this;
    }

    static Wide wide_of(std::string_view digits) {
        Wide value;
        for (const char digit : digits) {
            if (digit < '0' || digit > '9') throw ArchiveError("damaged: expected an integer");
            const Wide next = value * Wide{0, 10} + Wide{0, static_cast<std::uint64_t>(digit - '0')};
            // the largest that can be multiplied by ten is 2^128 / 10
            if (value.high > UINT64_MAX / 10 || next.high < value.high) throw ArchiveError("damaged: a number");
            value = next;
        }
        return value;
    }

    void write(std::string& out) const {
        switch (kind_) {
            case Kind::null:
                out += "null";
                return;
            case Kind::string:
                quote(text_, out);
                return;
            case Kind::boolean:
            case Kind::number:
                out += text_;
                return;
            case Kind::list:
            case Kind::object:
                break;
        }
        out += kind_ == Kind::list ? '[' : '{';
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (i > 0) out += ',';
            if (kind_ == Kind::object) {
                quote(keys_[i], out);
                out += ':';
            }
            items_[i].write(out);
        }
        out += kind_ == Kind::list ? ']' : '}';
    }
    static void quote(const std::string& text, std::string& out) {
        out += '"';
        for (const char letter : text) {
            if (letter == '"' || letter == '\\') {
                out += '\\';
                out += letter;
            } else if (static_cast<unsigned char>(letter) < 0x20) {
                constexpr const char* hex = "0123456789abcdef";
                out += "\\u00";
                out += hex[letter >> 4];
                out += hex[letter & 15];
            } else {
                out += letter;
            }
        }
        out += '"';
    }

    struct Reader {
        std::string_view left;

        [[noreturn]] static void fail() { throw ArchiveError("damaged: expected JSON"); }

        void skip_space() {
            while (!left.empty() && (left[0] == ' ' || left[0] == '\n' || left[0] == '\t' || left[0] == '\r')) {
                left.remove_prefix(1);
            }
        }
        char next() {
            if (left.empty()) fail();
            const char letter = left[0];
            left.remove_prefix(1);
            return letter;
        }
        bool take(std::string_view word) {
            if (left.substr(0, word.size()) != word) return false;
            left.remove_prefix(word.size());
            return true;
        }
        bool take_after_space(std::string_view word) {
            skip_space();
            return take(word);
        }

        Json value(int depth) {
            if (depth > 100) fail();  // deeper than any header
            skip_space();
            if (take("null")) return Json();
            if (take("true")) return boolean(true);
            if (take("false")) return boolean(false);
            if (take("\"")) return Json::string(rest_of_string());
            if (take("[")) {
                Json result = list({});
                if (take_after_space("]")) return result;
                do result.items_.push_back(value(depth + 1));
                while (take_after_space(","));
                if (!take("]")) fail();
                return result;
            }
            if (take("{")) {
                Json result = object({});
                if (take_after_space("}")) return result;
                do {
                    if (!take_after_space("\"")) fail();
                    const std::string key = rest_of_string();
                    if (!take_after_space(":")) fail();
                    result.set(key, value(depth + 1));
                } while (take_after_space(","));
                if (!take("}")) fail();
                return result;
            }
            return number();
        }

        Json number() {
            const std::string_view start = left;
            take("-");
            if (!take("0")) digits();
            if (take(".")) digits();
            if (take("e") || take("E")) {
                if (!take("+")) take("-");
                digits();
            }
            return Json(Kind::number, std::string(start.substr(0, start.size() - left.size())));
        }
        void digits() {
            if (left.empty() || left[0] < '0' || left[0] > '9') fail();
            while (!left.empty() && left[0] >= '0' && left[0] <= '9') left.remove_prefix(1);
        }

        std::string rest_of_string() {
            std::string result;
            for (char letter = next(); letter != '"'; letter = next()) {
                if (static_cast<unsigned char>(letter) < 0x20) fail();
                if (letter != '\\') {
                    result += letter;
                    continue;
                }
                const char escaped = next();
                constexpr std::string_view names = "\"\\/bfnrt", letters = "\"\\/\b\f\n\r\t";
                if (const std::size_t i = names.find(escaped); i != std::string_view::npos) {
                    result += letters[i];
                } else if (escaped == 'u') {
                    put_utf8(unit(), result);
                } else {
                    fail();
                }
            }
            return result;
        }
        std::uint32_t unit() {
            std::uint32_t value = 0;
            for (int i = 0; i < 4; ++i) {
                constexpr std::string_view hex = "0123456789abcdef0123456789ABCDEF";
                const std::size_t digit = hex.find(next());
                if (digit == std::string_view::npos) fail();
                value = value * 16 + static_cast<std::uint32_t>(digit % 16);
            }
            return value;
        }
        void put_utf8(std::uint32_t code, std::string& out) {
            if (code >= 0xd800 && code < 0xdc00) {  // the first half of a pair
                if (!take("\\u")) fail();
                const std::uint32_t second = unit();
                if (second < 0xdc00 || second > 0xdfff) fail();
                code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
            }
            if (code < 0x80) {
                out += static_cast<char>(code);
                return;
            }
            const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
            constexpr std::uint32_t marks[] = {0, 0xc0, 0xe0, 0xf0};
            out += static_cast<char>(marks[more] | (code >> (6 * more)));
            for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
        }
    };

    Kind kind_ = Kind::null;
    std::string text_;               // of a string, a number, true or false
    std::vector<Json> items_;        // of a list or an object
    std::vector<std::string> keys_;  // of an object, one for each of its items
};

}  // namespace ocp
