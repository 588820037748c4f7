// Includes OCP_KERNEL, a file's name, once for each instruction set; see lanes.hpp.
#define OCP_INSTRUCTIONS baseline
#define OCP_TARGET
#include OCP_KERNEL
#undef OCP_INSTRUCTIONS
#undef OCP_TARGET

#if OCP_X86
#define OCP_INSTRUCTIONS avx2
#define OCP_TARGET __attribute__((target("avx2")))
#include OCP_KERNEL
#undef OCP_INSTRUCTIONS
#undef OCP_TARGET

#define OCP_INSTRUCTIONS avx512
#if defined(__clang__)  // takes vectors as wide as they are written
#define OCP_TARGET __attribute__((target("avx512f,avx512dq")))
#else
#define OCP_TARGET __attribute__((target("avx512f,avx512dq,prefer-vector-width=512")))
#endif
#include OCP_KERNEL
#undef OCP_INSTRUCTIONS
#undef OCP_TARGET
#endif

#undef OCP_KERNEL
