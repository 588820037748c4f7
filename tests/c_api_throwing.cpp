// The C API from C++, with a feature function that throws: nothing gets past it, and saying so takes no memory that
// there is not. tests/test_c_api.py compiles and runs it.
#include <ocpfast/c_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

static bool no_memory = false;

void* operator new(std::size_t size) {
    if (no_memory) throw std::bad_alloc();
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

static const std::string long_message(1000, 'x');

static int throwing(int64_t, const void*, int64_t, double* features, void* user_data) {
    features[0] = 1;
    switch (*static_cast<int*>(user_data)) {
        case 1:
            throw 7;  // no exception of the standard library
        case 2:
            throw std::length_error("vector::reserve");
        case 3: {
            const std::runtime_error error(long_message);
            no_memory = true;
            throw error;
        }
        case 4:
            throw std::runtime_error(long_message);
        default:
            return 0;
    }
}

static void expect(bool holds, int kind) {
    if (holds) return;
    std::printf("%d: %s\n", kind, ocp_last_error());
    std::exit(1);
}

int main() {
    int kind = 0;
    ocp_description description;
    ocp_describe(&description);
    description.hypothesis = OCP_LINEAR_FEATURES;
    description.n_actions = 1;
    description.n_features = 1;
    description.horizon = 1;
    description.state_size = 1;
    description.selection = OCP_SELECT_ELUDER;
    description.function = throwing;
    description.user_data = &kind;
    ocp_agent* agent = nullptr;
    expect(ocp_agent_create(&description, &agent) == OCP_OK, kind);

    const struct {
        int code;
        std::string message;
    } expected[] = {
        {OCP_OK, ""},
        {OCP_FAILED, "an unknown error"},
        {OCP_NO_MEMORY, "no memory"},
        {OCP_FAILED, ""},  // no room for what there is to say
        {OCP_FAILED, long_message},
        {OCP_OK, long_message},
    };
    for (const auto& one : expected) {
        const double state = kind;
        int64_t action = -1;
        const int code = ocp_agent_act(agent, ocp_vector(&state, 1), &action);
        no_memory = false;
        expect(code == one.code && (code == OCP_OK) == (action == 0), kind);
        expect(ocp_last_error() == one.message, kind);
        ocp_agent_begin_episode(agent);
        ++kind;
    }
    ocp_agent_destroy(agent);
    std::puts("all is well");
}
