# The parts of a program in C form (csrc/exec/program.h), built from its specification by Program.
# df_program_new copies them, so they live only while a Program is built.

@cython.final
@cython.no_gc
cdef class ProgramParts:
    """The parts of a program in C form, while it is built; `bodies` is filled in by the caller."""
    cdef df_program_parts c
    cdef df_slot *slots
    cdef df_instruction *instructions
    cdef int64_t *dims
    cdef int *operands
    cdef df_program **bodies
    cdef int *returned

    def __cinit__(self, spec, int n_bodies, bint is_body):
        cdef tuple slots = spec.slots
        cdef tuple instructions = spec.instructions
        cdef Py_ssize_t n_dims = 0, n_operands = 0
        cdef list shapes = [], operands = []           # read once: the arrays are sized by them
        cdef tuple numbers
        for slot in slots:
            numbers = tuple(slot.shape)
            shapes.append(numbers)
            n_dims += len(numbers)
        for instruction in instructions:
            for numbers in (instruction.inputs, instruction.outputs):
                operands.append(numbers)
                n_operands += len(numbers)
        self.slots = <df_slot *>calloc(len(slots) + 1, sizeof(df_slot))
        self.instructions = <df_instruction *>calloc(len(instructions) + 1, sizeof(df_instruction))
        self.dims = <int64_t *>calloc(n_dims + 1, sizeof(int64_t))
        self.operands = <int *>calloc(n_operands + 1, sizeof(int))
        self.bodies = <df_program **>calloc(n_bodies + 1, sizeof(df_program *))
        self.returned = <int *>calloc(len(spec.results) + 1, sizeof(int))
        if self.slots == NULL or self.instructions == NULL or self.dims == NULL \
                or self.operands == NULL or self.bodies == NULL or self.returned == NULL:
            raise MemoryError()
        self.c.n_slots = <int>len(slots)
        self.c.n_instructions = <int>len(instructions)
        self.c.slots = self.slots
        self.c.instructions = self.instructions
        self.c.n_args = <int>(len(spec.arguments) + len(spec.variables))
        self.c.arena_bytes = spec.arena_bytes
        self.fill_slots(slots, shapes, spec.constants)
        self.fill_instructions(instructions, operands)
        if is_body:
            self.c.returned = self.returned
            for k, result in enumerate(spec.results):
                self.returned[<int>k] = slot_of_result(slots, k, result)

    def __dealloc__(self):
        free(self.slots)
        free(self.instructions)
        free(self.dims)
        free(self.operands)
        free(self.bodies)
        free(self.returned)

    cdef int fill_slots(self, tuple slots, list shapes, tuple constants) except -1:
        cdef int64_t *dims = self.dims
        cdef df_slot *s = self.slots
        for slot, shape in zip(slots, shapes):
            s.kind = <df_slot_kind>(<int>slot.kind)
            s.dtype = <df_dtype>(<int>slot.dtype.index)
            s.ndim = <int>len(shape)
            s.shape = dims
            for d in shape:
                dims[0] = DF_UNKNOWN if d is None else d
                dims += 1
            s.offset = slot.offset
            s.index = slot.number
            s.last_use = slot.last_use
            if s.kind == DF_SLOT_CONSTANT:
                s.data = data_of_constant(s, constants)
            s += 1
        return 0

    cdef int fill_instructions(self, tuple instructions, list operands) except -1:
        cdef int *at = self.operands
        cdef df_program **body = self.bodies
        cdef df_instruction *i = self.instructions
        cdef Op op
        cdef Attrs attrs
        for k, instruction in enumerate(instructions):
            ins, outs = operands[2 * k], operands[2 * k + 1]
            op, attrs = <Op?>instruction.op, instruction.attrs
            workspace = instruction.workspace
            i.op = op.c
            i.n_in = <int>len(ins)
            i.in_ = at
            for slot in ins:
                at[0] = slot
                at += 1
            i.n_out = <int>len(outs)
            i.out = at
            for slot in outs:
                at[0] = slot
                at += 1
            if attrs is not None:
                i.n_attrs = <int>len(attrs.names)
                i.attrs = attrs.c
            i.workspace = -1 if workspace is None else workspace
            i.dynamic = instruction.dynamic
            i.poll = instruction.poll
            i.wave = instruction.wave
            i.cost = instruction.cost_ns
            i.n_bodies = <int>len(instruction.bodies)
            i.bodies = body
            body += i.n_bodies
            i += 1
        return 0


cdef int slot_of_result(tuple slots, Py_ssize_t k, result) except -2:
    """Return the slot that holds result `k` of a body, or -1."""
    if result.kind == DF_SLOT_DYNAMIC:
        return <int>result.number
    number = k if result.kind == DF_SLOT_RESULT else result.number
    for j, slot in enumerate(slots):
        if slot.kind == result.kind and slot.number == number and slot.offset == 0 \
                and slot.shape == result.shape and slot.dtype is result.dtype:
            return <int>j
    return -1


cdef const void *data_of_constant(const df_slot *s, tuple constants) except NULL:
    """Return the memory of a constant; raise if its dtype or shape differs from its slot's."""
    cdef Tensor value
    cdef int d
    if not 0 <= s.index < len(constants):
        raise _errors.InvalidArgumentError(
            f"program: a slot refers to constant {s.index} of {len(constants)}")
    value = <Tensor?>constants[s.index]
    if value.t.dtype == s.dtype and value.t.ndim == s.ndim:
        for d in range(s.ndim):
            if value.t.shape[d] != s.shape[d]:
                break
        else:
            return value.t.data
    raise _errors.InvalidArgumentError(
        f"program: the constant is {describe(value)}, its slot {dims_tuple(s.ndim, s.shape)}")


cdef int64_t slot_bytes(const df_slot *s) noexcept:
    """Return the bytes of a slot, or -1 if a size is unknown."""
    cdef int64_t n = df_dtypes[<int>s.dtype].bytes
    cdef int d
    for d in range(s.ndim):
        if s.shape[d] < 0:
            return -1
        n *= s.shape[d]
    return n
