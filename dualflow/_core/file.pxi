# Program files as plain Python values. csrc/file reads and checks a file, dualflow.aot builds
# programs from the values. The values stay valid after the file is closed.

cdef tuple ops_by_index = tuple(OPS.values())


@cython.final
cdef class ProgramFile:
    """The contents of a valid program file (csrc/file/file.h).

    Parameters
    ----------
    path : bytes

    Attributes
    ----------
    inputs, outputs : tuple of (str, DType, tuple of int)
    variables : tuple of (str, Tensor)
        Names and values. A value shares its memory with no other object.
    structure : bytes
    entry, cached : tuple
        The program, the sources of its arguments and its returned values, for the main program and
        for the one that computes cached values; `cached` may be None. Enumerators are the ints of
        csrc/model/model.h; ops, dtypes, shapes, attributes and constants are objects.
    """
    cdef df_file *c
    cdef dict constants                # by address, dtype and shape
    cdef readonly tuple inputs
    cdef readonly tuple outputs
    cdef readonly tuple variables
    cdef readonly bytes structure
    cdef readonly tuple entry
    cdef readonly tuple cached

    def __cinit__(self, bytes path):
        cdef df_error err
        cdef df_status status
        cdef const char *where = path
        cdef const df_model_entry *entry
        with nogil:
            status = df_file_open(where, &self.c, &err)
        check(status, &err)
        self.constants = {}
        entry = self.c.tables.entries
        self.inputs = described(self.c.n_in, self.c.inputs)
        self.outputs = described(self.c.n_out, self.c.outputs)
        self.variables = self.values()
        self.structure = self.c.structure[:self.c.structure_bytes]
        self.entry = self.read_entry(entry)
        self.cached = self.read_entry(entry.cached) if entry.cached != NULL else None
        df_file_close(self.c)
        self.c = NULL

    def __dealloc__(self):
        df_file_close(self.c)

    cdef tuple values(self):
        cdef list found = []
        cdef const df_model_variable *v
        cdef df_buffer *buffer
        cdef df_error err
        cdef Tensor x
        for k in range(self.c.tables.n_variables):
            v = &self.c.tables.variables[<int>k]
            x = blank()
            check(df_tensor_set(&x.t, v.dtype, v.ndim, v.shape, b"file", &err), &err)
            buffer = df_model_value_of(self.c.model, <int>k)
            df_buffer_retain(buffer)
            x.t.buffer = buffer
            x.t.data = buffer.data
            found.append((text_of(v.name), x))
        return tuple(found)

    cdef tuple read_entry(self, const df_model_entry *e):
        cdef const df_model_source *s
        cdef const df_model_return *r
        cdef const df_model_variable *v
        cdef list sources = [], returns = []
        for k in range(e.program.n_args):
            s = &e.sources[<int>k]
            sources.append((s.origin, s.index, self.constant(s.data, DF_U8, 1, &s.bytes)))
        for k in range(e.n_out):
            r = &e.returns[<int>k]
            if e == self.c.tables.entries:         # the main program; cached values are bytes
                v = &self.c.outputs[<int>k]
                returns.append((r.kind, r.index, self.constant(r.data, v.dtype, v.ndim, v.shape),
                                DTYPES[<int>v.dtype], dims_tuple(v.ndim, v.shape)))
            else:
                returns.append((r.kind, r.index, self.constant(r.data, DF_U8, 1, &r.bytes),
                                DTYPES[<int>DF_U8], (r.bytes,)))
        return self.read_program(e.program), tuple(sources), tuple(returns)

    cdef constant(self, const void *data, df_dtype dtype, int ndim, const int64_t *shape):
        """Return a copy, the same one for each use of a constant; None for NULL."""
        cdef Tensor x
        if data == NULL:
            return None
        key = (<size_t>data, <int>dtype, dims_tuple(ndim, shape))
        if key not in self.constants:
            x = new_tensor(dtype, ndim, shape, b"file")
            if x.t.size:
                memcpy(x.t.data, data, df_tensor_bytes(&x.t))
            self.constants[key] = x
        return self.constants[key]

    cdef tuple read_program(self, const df_model_program *p):
        cdef list slots = [], instructions = [], returned = []
        cdef const df_slot *s
        for k in range(p.n_slots):
            s = &p.slots[<int>k]
            data = self.constant(s.data, s.dtype, s.ndim, s.shape)
            slots.append((<int>s.kind, DTYPES[<int>s.dtype], dims_tuple(s.ndim, s.shape),
                          s.offset, s.index, data, s.last_use))
        for k in range(p.n_instructions):
            instructions.append(self.read_instruction(&p.instructions[<int>k]))
        for k in range(p.n_results if p.returned != NULL else 0):
            returned.append(p.returned[<int>k])
        return (tuple(slots), tuple(instructions), p.n_args, p.n_results, p.arena_bytes,
                tuple(returned))

    cdef tuple read_instruction(self, const df_model_instruction *i):
        cdef Op op = <Op>ops_by_index[i.op]
        cdef list slots = [], bodies = []
        cdef bint planned = strcmp(self.c.tables.level, df_registry_isa()) == 0
        cdef int64_t workspace = i.workspace if planned or i.dynamic else DF_WORKSPACE_APPENDED
        for k in range(i.n_in + i.n_out):
            slots.append(i.slots[<int>k])
        for k in range(i.n_bodies):
            bodies.append(self.read_program(i.bodies[<int>k]))
        return (op, tuple(slots[:i.n_in]), tuple(slots[i.n_in:]), attrs_of(op, i.attrs),
                workspace, i.dynamic, i.poll, i.wave, i.cost, tuple(bodies))


cdef str text_of(const char *text):
    return text.decode("utf-8", "replace")


cdef tuple described(int n, const df_model_variable *v):
    cdef list found = []
    for k in range(n):
        found.append((text_of(v[<int>k].name), DTYPES[<int>v[<int>k].dtype],
                      dims_tuple(v[<int>k].ndim, v[<int>k].shape)))
    return tuple(found)


cdef Attrs attrs_of(Op op, const df_attr *c):
    """Return the Attrs of attributes in C form, or None if the op has no attributes."""
    cdef list values = []
    for k in range(op.c.n_attrs):
        if op.c.attrs[<int>k].type == DF_ATTR_FLOAT:
            values.append(c[<int>k].f)
        elif op.c.attrs[<int>k].type == DF_ATTR_INTS:
            values.append(tuple(int_list(c[<int>k].list.v, c[<int>k].list.n)))
        else:
            values.append(c[<int>k].i)
    return pack_values(op, tuple(values)) if values else None


def crc32c(bytes data):
    """Return the checksum CRC-32C of bytes."""
    cdef const unsigned char *begin = data
    cdef int64_t size = len(data)
    cdef unsigned int found
    with nogil:
        found = df_crc32c(begin, size)
    return found
