# Sets and maps of tensor ids. Ids are handed out in order, so the values an op stream makes lie
# close together: a set keeps a bit for each id from its birth on, and hashes only older ones.

cdef extern from "Python.h":
    void *PyMem_Realloc(void *p, size_t n)
    void *PyMem_Calloc(size_t n, size_t size)

cdef enum:
    FIRST_SLOTS = 16
    FIRST_WORDS = 16
    SPARSE = 4096              # bits spent per id kept, at most; beyond it an id is hashed


cdef struct IdMap:
    # Open addressing with linear probing; key 0 is free; n_slots is 0 or a power of two.
    uint64_t *keys
    PyObject **values          # what they mean, and who owns them, is the user's business
    int64_t n
    int64_t n_slots


cdef struct IdSet:
    uint64_t base              # bit i of `bits` stands for id base + i
    uint64_t *bits
    uint64_t n_bits
    int64_t n
    IdMap rest


cdef list int_list(const int64_t *numbers, Py_ssize_t n):
    cdef list out = [None] * n
    cdef Py_ssize_t k
    for k in range(n):
        out[k] = numbers[k]
    return out


cdef inline uint64_t home_slot(const IdMap *m, uint64_t id) noexcept:
    return ((id * <uint64_t>0x9E3779B97F4A7C15) >> 32) & <uint64_t>(m.n_slots - 1)


cdef inline int64_t map_find(const IdMap *m, uint64_t id) noexcept:
    """The slot of `id`, or -1."""
    cdef uint64_t slot
    if m.n == 0:
        return -1
    slot = home_slot(m, id)
    while m.keys[slot] != id:
        if m.keys[slot] == 0:
            return -1
        slot = (slot + 1) & <uint64_t>(m.n_slots - 1)
    return <int64_t>slot


cdef int map_grow(IdMap *m) except -1:
    cdef IdMap grown
    cdef int64_t i, slot
    grown.n = m.n
    grown.n_slots = max(<int64_t>FIRST_SLOTS, m.n_slots * 2)
    grown.keys = <uint64_t *>PyMem_Calloc(grown.n_slots, sizeof(uint64_t))
    grown.values = <PyObject **>PyMem_Calloc(grown.n_slots, sizeof(PyObject *))
    if grown.keys == NULL or grown.values == NULL:
        map_free(&grown)
        raise MemoryError()
    for i in range(m.n_slots):
        if m.keys[i]:
            slot = home_slot(&grown, m.keys[i])
            while grown.keys[slot]:
                slot = (slot + 1) & (grown.n_slots - 1)
            grown.keys[slot] = m.keys[i]
            grown.values[slot] = m.values[i]
    map_free(m)
    m[0] = grown
    return 0


cdef int64_t map_put(IdMap *m, uint64_t id) except -1:
    """The slot of `id`, with value NULL where it is new."""
    cdef uint64_t slot
    cdef int64_t found = map_find(m, id)
    if found >= 0:
        return found
    if m.n * 2 >= m.n_slots:
        map_grow(m)
    slot = home_slot(m, id)
    while m.keys[slot]:
        slot = (slot + 1) & <uint64_t>(m.n_slots - 1)
    m.keys[slot] = id
    m.values[slot] = NULL
    m.n += 1
    return <int64_t>slot


cdef void map_remove(IdMap *m, int64_t at) noexcept:
    """Frees a slot and moves up those after it that were pushed away from home."""
    cdef uint64_t mask = m.n_slots - 1
    cdef uint64_t hole = at, slot = at, home
    while True:
        slot = (slot + 1) & mask
        if m.keys[slot] == 0:
            break
        home = home_slot(m, m.keys[slot])
        if ((slot - home) & mask) >= ((slot - hole) & mask):
            m.keys[hole] = m.keys[slot]
            m.values[hole] = m.values[slot]
            hole = slot
    m.keys[hole] = 0
    m.n -= 1


cdef void map_free(IdMap *m) noexcept:
    PyMem_Free(m.keys)
    PyMem_Free(m.values)
    memset(m, 0, sizeof(IdMap))


cdef inline bint set_has(const IdSet *s, uint64_t id) noexcept:
    cdef uint64_t bit = id - s.base
    if bit < s.n_bits and s.bits[bit >> 6] >> (bit & 63) & 1:
        return True
    return map_find(&s.rest, id) >= 0


cdef inline int set_put(IdSet *s, uint64_t id) except -1:
    cdef uint64_t bit = id - s.base            # wraps around for older ids: huge
    if bit >= s.n_bits:
        if bit >= <uint64_t>(s.n + 1) * SPARSE:
            map_put(&s.rest, id)
            return 0
        set_grow(s, bit)
    s.bits[bit >> 6] |= <uint64_t>1 << (bit & 63)
    s.n += 1
    return 0


cdef int set_grow(IdSet *s, uint64_t bit) except -1:
    cdef uint64_t old = s.n_bits >> 6
    cdef uint64_t words = max(<uint64_t>FIRST_WORDS, max(old * 2, (bit >> 6) + 1))
    cdef uint64_t *bits = <uint64_t *>PyMem_Realloc(s.bits, words * sizeof(uint64_t))
    if bits == NULL:
        raise MemoryError()
    memset(bits + old, 0, (words - old) * sizeof(uint64_t))
    s.bits = bits
    s.n_bits = words << 6
    return 0


cdef void set_free(IdSet *s) noexcept:
    PyMem_Free(s.bits)
    map_free(&s.rest)
    s.bits = NULL
    s.n_bits = 0
    s.n = 0
