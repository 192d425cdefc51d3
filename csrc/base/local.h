/* Variables of a thread: found at a fixed place beside its stack, without the call that a shared
 * library needs otherwise (2 ns each, and a small op looks at five). There is little room there:
 * for pointers only. */
#ifndef DF_LOCAL_H
#define DF_LOCAL_H

#ifdef __linux__
#define DF_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) _Thread_local
#else
#define DF_THREAD_LOCAL _Thread_local
#endif

#endif
