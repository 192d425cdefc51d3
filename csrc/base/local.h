/* Thread-local variables at a fixed offset from the thread pointer, without the call that a shared
 * library otherwise needs (2 ns each; a small op reads five). Space for such variables is limited:
 * use them for pointers only. */
#ifndef DF_LOCAL_H
#define DF_LOCAL_H

#ifdef __linux__
#define DF_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) _Thread_local
#else
#define DF_THREAD_LOCAL _Thread_local
#endif

#endif
