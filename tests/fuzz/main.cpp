// A fuzz target without a fuzzer: gives it the files that the command line names, so that any compiler can replay them.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "input.hpp"

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        std::fprintf(stderr, "%s\n", argv[i]);  // the last one is it, if this ends here
        std::ifstream file(argv[i], std::ios::binary);
        if (!file) return 2;
        const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    }
    return 0;
}
