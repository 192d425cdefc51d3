/* Buffers, the free list and scratch memory.
 *
 * An owned buffer is one block: a 64-byte header, then the data. Capacities are powers of two with
 * three steps between them (64, 128, 192, 256, 320, ... bytes), one bucket each. A bucket is a list
 * of free blocks, last in, first out, so that a new buffer is likely to be in cache.
 *
 * One spin lock protects everything and is held for about ten instructions. Statistics kept under
 * the same lock cost nothing extra and are exact; separate atomic counters would cost 5 ns each.
 * The lock is a flag, not a mutex, so that the child of a fork may simply clear it. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "base/memory.h"

#include "base/local.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#ifndef DF_NO_MMAP
#include <sys/mman.h>
#endif
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define KEEP_FREE_BLOCKS false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEP_FREE_BLOCKS false
#endif
#endif
#ifndef KEEP_FREE_BLOCKS
#define KEEP_FREE_BLOCKS true /* false: sanitizers see every use after free and every leak */
#endif

#ifdef DF_NO_MMAP
#define MAPS false
#else
#define MAPS KEEP_FREE_BLOCKS
#endif

#define HEADER_BYTES DF_ALIGNMENT
#define MAP_BYTES ((int64_t)4 << 20)    /* larger blocks are mapped with huge pages */
#define HUGE_PAGE_BYTES ((int64_t)2 << 20)
#define SMALL_BYTES ((int64_t)64 << 10) /* up to this size each bucket has a limit of its own */
#define SMALL_BUCKET_BYTES ((int64_t)8 << 20)
#define CACHE_BYTES ((int64_t)1 << 30)  /* limit of all cached blocks, or a quarter of RAM if that
                                         * is less */
#define MAX_BYTES ((int64_t)1 << 47)    /* exceeds any address space */
#define N_BUCKETS 160                   /* 4 per power of two up to MAX_BYTES */
#define FOREIGN (-1)                    /* bucket of wrapped memory */

_Static_assert(sizeof(df_buffer) <= HEADER_BYTES, "the header must not reach into the data");

typedef struct {
    df_buffer *head; /* linked through `owner`, which points to the accounting entry while in use */
    int64_t bytes;   /* of all blocks in the list */
} bucket_list;

static struct {
    atomic_flag lock;
    df_memory_stats stats;
    int64_t cache_bytes; /* limit of stats.cached */
    int64_t all_bytes;   /* physical memory and swap */
    int hand;            /* clock hand: the bucket to evict from next when the cache is full */
    bucket_list lists[N_BUCKETS];
    df_thread_memory threads[DF_MEMORY_THREADS]; /* entry 0 is shared */
    bool in_use[DF_MEMORY_THREADS];              /* by a running thread */
    pthread_key_t at_exit;
    bool has_key;
    df_buffer *scratch[DF_SCRATCH_PIECES + 1]; /* idle pieces; one more than allowed until a surplus
                                                * piece is dropped */
    int n_scratch;
    int64_t scratch_bytes;
} memory = {.lock = ATOMIC_FLAG_INIT, .cache_bytes = CACHE_BYTES, .all_bytes = MAX_BYTES};

static void lock(void)
{
    for (int tries = 0; atomic_flag_test_and_set_explicit(&memory.lock, memory_order_acquire);)
        if (++tries > 100) sched_yield(); /* the holder was preempted */
}

static void unlock(void) { atomic_flag_clear_explicit(&memory.lock, memory_order_release); }

/* --- accounting per thread
 * ----------------------------------------------------------------------- */

static DF_THREAD_LOCAL df_thread_memory *own;

static uint64_t thread_number(void)
{
#if defined(__linux__)
    return (uint64_t)syscall(SYS_gettid);
#elif defined(__APPLE__)
    uint64_t number = 0;
    pthread_threadid_np(NULL, &number);
    return number;
#else
    return (uint64_t)(uintptr_t)pthread_self();
#endif
}

#ifndef DF_NO_THREADS
/* A thread exits. Its entry is reusable once it has no live bytes. */
static void release_slot(void *place)
{
    lock();
    memory.in_use[(df_thread_memory *)place - memory.threads] = false;
    unlock();
}
#endif

/* Assigns an entry to this thread. */
static df_thread_memory *find_slot(void)
{
    int found = 0;
    lock();
    for (int i = 1; i < DF_MEMORY_THREADS && !found && memory.has_key; i++)
        if (!memory.in_use[i] && memory.threads[i].live == 0) found = i;
    df_thread_memory *place = &memory.threads[found];
    if (found) {
        memory.in_use[found] = true;
        place->thread = thread_number();
    }
    unlock();
#ifndef DF_NO_THREADS
    if (found && pthread_setspecific(memory.at_exit, place)) release_slot(place);
#endif
    own = place;
    return place;
}

static inline df_thread_memory *own_slot(void) { return own ? own : find_slot(); }

int df_memory_by_thread(df_thread_memory all[DF_MEMORY_THREADS])
{
    int n = 0;
    lock();
    for (int i = 0; i < DF_MEMORY_THREADS; i++)
        if (memory.in_use[i] || memory.threads[i].live) all[n++] = memory.threads[i];
    unlock();
    return n;
}

#ifndef DF_NO_THREADS
/* The child of a fork has one thread, with a new id. */
static void after_fork(void)
{
    for (int i = 0; i < DF_MEMORY_THREADS; i++)
        memory.in_use[i] = own == &memory.threads[i] && i > 0;
    if (own && own != memory.threads) own->thread = thread_number();
    unlock();
}
#endif

/* Runs at load, so that the fast path checks nothing. Sets the limits of this machine, and fork
 * handlers that leave the lock open in the child. */
__attribute__((constructor)) static void memory_init(void)
{
    int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    if (all > 0) {
        memory.cache_bytes = df_min(CACHE_BYTES, all / 4);
#ifdef __linux__
        struct sysinfo info;
        if (sysinfo(&info) == 0) all += (int64_t)info.totalswap * info.mem_unit;
#endif
        memory.all_bytes = all;
    }
#ifndef DF_NO_THREADS
    memory.has_key = pthread_key_create(&memory.at_exit, release_slot) == 0;
    pthread_atfork(lock, unlock, after_fork);
#endif
}

/* The bucket of a request of 0 < bytes <= MAX_BYTES, and the capacity of its blocks. With u units
 * of 64 bytes and 2^k <= u - 1 < 2^(k+1), steps are 2^(k-2) units. */
static int bucket_of(int64_t bytes, int64_t *capacity)
{
    int64_t last = (bytes - 1) / DF_ALIGNMENT; /* u - 1 */
    if (last < 4) {
        *capacity = (last + 1) * DF_ALIGNMENT;
        return (int)last;
    }
    int shift = 61 - __builtin_clzll((uint64_t)last); /* k - 2 */
    *capacity = ((last >> shift) + 1) * ((int64_t)DF_ALIGNMENT << shift);
    return shift * 4 + (int)(last >> shift);
}

#ifndef DF_NO_MMAP
/* Length in bytes of the mapping of a block, a whole number of pages. */
static int64_t map_length(int64_t capacity)
{
    int64_t page = sysconf(_SC_PAGESIZE);
    return df_ceil_div(HEADER_BYTES + capacity, page) * page;
}

/* Maps a block aligned to a huge page. Writing 64 MB takes 38 ms into fresh 4 KiB pages, 8 ms into
 * huge pages, and 2 ms into a block that was used before. */
static void *map_block(int64_t capacity)
{
    int64_t length = map_length(capacity), mapped = length + HUGE_PAGE_BYTES;
    char *start = mmap(NULL, (size_t)mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
    if (start == MAP_FAILED) return NULL;
    int64_t before = -(int64_t)(intptr_t)start & (HUGE_PAGE_BYTES - 1);
    if (before) munmap(start, (size_t)before);
    munmap(start + before + length, (size_t)(HUGE_PAGE_BYTES - before));
#ifdef MADV_HUGEPAGE
    madvise(start + before, (size_t)length, MADV_HUGEPAGE);
#endif
    return start + before;
}

static void unmap_block(df_buffer *block) { munmap(block, (size_t)map_length(block->bytes)); }
#else
static void *map_block(int64_t capacity) { (void)capacity; return NULL; }
static void unmap_block(df_buffer *block) { (void)block; }
#endif

static df_buffer *block_from_system(int64_t capacity)
{
    void *block = NULL;
    if (MAPS && capacity >= MAP_BYTES) return map_block(capacity);
    if (posix_memalign(&block, DF_ALIGNMENT, (size_t)(HEADER_BYTES + capacity))) return NULL;
    return block;
}

static void block_to_system(df_buffer *block)
{
    if (MAPS && block->bytes >= MAP_BYTES)
        unmap_block(block);
    else
        free(block);
}

static void chain_to_system(df_buffer *block)
{
    while (block) {
        df_buffer *next = block->owner;
        block_to_system(block);
        block = next;
    }
}

/* Lock held. Counts a block as in use by a thread. */
static inline void count_live(df_buffer *block, df_thread_memory *by)
{
    block->owner = by;
    by->live += block->bytes;
    memory.stats.allocations++;
    memory.stats.live += block->bytes;
    if (memory.stats.live > memory.stats.peak) memory.stats.peak = memory.stats.live;
}

/* Lock held. Counts a block as no longer in use. */
static inline void count_idle(df_buffer *block)
{
    ((df_thread_memory *)block->owner)->live -= block->bytes;
    memory.stats.live -= block->bytes;
}

/* Allocates a block from the system when the free list has none. */
static df_buffer *new_block(int bucket, int64_t capacity)
{
    lock();
    bool possible = memory.stats.live + capacity <= memory.all_bytes;
    unlock();
    if (!possible) return NULL;
    df_buffer *block = block_from_system(capacity);
    if (!block) {
        df_memory_trim();
        block = block_from_system(capacity);
        if (!block) return NULL;
    }
    *block = (df_buffer){.bucket = bucket, .bytes = capacity, .data = (char *)block + HEADER_BYTES};
    df_thread_memory *by = own_slot();
    lock();
    count_live(block, by);
    unlock();
    return block;
}

df_buffer *df_buffer_new(int64_t bytes)
{
    int64_t capacity;
    if (bytes < 0 || bytes > MAX_BYTES) return NULL;
    int bucket = bucket_of(bytes + (bytes == 0), &capacity);
    if (!KEEP_FREE_BLOCKS) /* no slack that would hide an access past the end */
        capacity = df_ceil_div(bytes + (bytes == 0), DF_ALIGNMENT) * DF_ALIGNMENT;
    bucket_list *list = &memory.lists[bucket];
    df_thread_memory *by = own_slot();
    lock();
    df_buffer *block = list->head;
    if (block) {
        list->head = block->owner;
        list->bytes -= capacity;
        memory.stats.cached -= capacity;
        count_live(block, by);
    }
    unlock();
    if (!block) {
        block = new_block(bucket, capacity);
        if (!block) return NULL;
    }
    block->refs = 1;
    return block;
}

/* Lock held. Takes blocks off the lists until `bytes` more may be cached, bucket by bucket in
 * rotation, so that sizes no longer in use do not fill the cache forever. Returns them linked. */
static df_buffer *evict(int64_t bytes)
{
    df_buffer *evicted = NULL;
    while (memory.stats.cached > memory.cache_bytes - bytes) {
        bucket_list *list = &memory.lists[memory.hand];
        df_buffer *block = list->head;
        if (!block) {
            memory.hand = (memory.hand + 1) % N_BUCKETS;
            continue;
        }
        list->head = block->owner;
        list->bytes -= block->bytes;
        memory.stats.cached -= block->bytes;
        block->owner = evicted;
        evicted = block;
    }
    return evicted;
}

/* Caches or frees an owned block whose last reference is gone. */
static void recycle(df_buffer *block)
{
    int64_t bytes = block->bytes;
    bucket_list *list = &memory.lists[block->bucket];
    df_buffer *evicted = NULL;
    lock();
    count_idle(block);
    bool keep = KEEP_FREE_BLOCKS && bytes <= memory.cache_bytes &&
                (bytes > SMALL_BYTES || list->bytes < SMALL_BUCKET_BYTES);
    if (keep) {
        if (memory.stats.cached > memory.cache_bytes - bytes) evicted = evict(bytes);
        block->owner = list->head;
        list->head = block;
        list->bytes += bytes;
        memory.stats.cached += bytes;
    }
    unlock();
    if (!keep) block_to_system(block);
    chain_to_system(evicted);
}

df_buffer *df_buffer_wrap(void *data, int64_t bytes, void (*release)(void *), void *owner)
{
    df_buffer *buffer = malloc(sizeof *buffer);
    if (buffer)
        *buffer = (df_buffer){1, FOREIGN, bytes, data, release, owner};
    return buffer;
}

void df_buffer_retain(df_buffer *buffer)
{
    __atomic_fetch_add(&buffer->refs, 1, __ATOMIC_RELAXED);
}

void df_buffer_release(df_buffer *buffer)
{
    if (!buffer) return;
    /* The holder of the only reference needs no atomic subtraction. */
    if (__atomic_load_n(&buffer->refs, __ATOMIC_ACQUIRE) != 1 &&
        __atomic_fetch_sub(&buffer->refs, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    if (buffer->bucket != FOREIGN) {
        recycle(buffer);
        return;
    }
    if (buffer->release) buffer->release(buffer->owner);
    free(buffer);
}

int32_t df_buffer_refs(const df_buffer *buffer)
{
    return __atomic_load_n(&buffer->refs, __ATOMIC_ACQUIRE);
}

bool df_buffer_is_exclusive(const df_buffer *buffer)
{
    return buffer->bucket != FOREIGN && df_buffer_refs(buffer) == 1;
}

/* Lock held. Takes idle piece i off the list. */
static df_buffer *remove_scratch(int i)
{
    df_buffer *piece = memory.scratch[i];
    memory.scratch[i] = memory.scratch[--memory.n_scratch];
    memory.scratch_bytes -= piece->bytes;
    return piece;
}

df_buffer *df_scratch_take(int64_t bytes)
{
    df_buffer *piece = NULL;
    df_thread_memory *by = own_slot();
    int best = -1;
    lock();
    for (int i = 0; i < memory.n_scratch; i++) {
        int64_t size = memory.scratch[i]->bytes;
        int64_t least = best < 0 ? 0 : memory.scratch[best]->bytes;
        if (best < 0 || (least < bytes ? size > least : size >= bytes && size < least)) best = i;
    }
    if (best >= 0) piece = remove_scratch(best);
    bool fits = piece && piece->bytes >= bytes;
    if (fits) count_live(piece, by);
    unlock();
    if (fits) return piece;
    if (piece) block_to_system(piece);
    return df_buffer_new(bytes);
}

/* Lock held. Takes a surplus piece off the list, or returns NULL: the smaller of two large pieces,
 * otherwise the smallest if there are too many. */
static df_buffer *spare_scratch(void)
{
    int n_large = 0, out = -1;
    for (int i = 0; i < memory.n_scratch; i++)
        n_large += memory.scratch[i]->bytes > DF_LARGE_SCRATCH;
    if (n_large < 2 && memory.n_scratch <= DF_SCRATCH_PIECES) return NULL;
    for (int i = 0; i < memory.n_scratch; i++) {
        int64_t size = memory.scratch[i]->bytes;
        if (n_large > 1 && size <= DF_LARGE_SCRATCH) continue;
        if (out < 0 || size < memory.scratch[out]->bytes) out = i;
    }
    return remove_scratch(out);
}

void df_scratch_give(df_buffer *scratch)
{
    if (!KEEP_FREE_BLOCKS) {
        df_buffer_release(scratch);
        return;
    }
    lock();
    count_idle(scratch);
    memory.scratch_bytes += scratch->bytes;
    memory.scratch[memory.n_scratch++] = scratch;
    df_buffer *spare = spare_scratch();
    unlock();
    if (spare) block_to_system(spare);
}

df_memory_stats df_memory(void)
{
    lock();
    df_memory_stats stats = memory.stats;
    stats.cached += memory.scratch_bytes;
    unlock();
    return stats;
}

static df_buffer *scratch_to_trim(void)
{
    lock();
    df_buffer *piece = memory.n_scratch ? remove_scratch(0) : NULL;
    unlock();
    return piece;
}

void df_memory_trim(void)
{
    for (df_buffer *piece = scratch_to_trim(); piece; piece = scratch_to_trim())
        block_to_system(piece);
    for (int i = 0; i < N_BUCKETS; i++) {
        lock();
        df_buffer *blocks = memory.lists[i].head;
        memory.stats.cached -= memory.lists[i].bytes;
        memory.lists[i] = (bucket_list){NULL, 0};
        unlock();
        chain_to_system(blocks);
    }
}

void df_memory_reset_peak(void)
{
    lock();
    memory.stats.peak = memory.stats.live;
    unlock();
}
