#include "base/row_list.h"

#include <string.h>

typedef struct {
    int64_t capacity, end, last; /* in bytes: size, end of the rows, last row */
    int64_t n;
    bool reverse;
} head;

typedef struct {
    int64_t bytes, before; /* size of this record and of the previous one; the data of the row
                            * follow */
    df_dtype dtype;
    int ndim;
    int64_t shape[];
} record;

static head *head_of(const df_tensor *rows) { return rows->data; }

static int64_t aligned(int64_t n) { return (n + DF_ALIGNMENT - 1) / DF_ALIGNMENT * DF_ALIGNMENT; }

static int64_t head_bytes(void) { return aligned((int64_t)sizeof(head)); }

static int64_t record_bytes(int ndim)
{
    return aligned((int64_t)sizeof(record) + ndim * (int64_t)sizeof(int64_t));
}

static record *record_at(const df_tensor *rows, int64_t at)
{
    return (record *)((char *)rows->data + at);
}

/* Ensures capacity for `bytes` more; grows at least twofold. */
static df_status reserve(df_tensor *rows, int64_t bytes, df_error *err)
{
    head h = rows->buffer ? *head_of(rows) : (head){.end = head_bytes()};
    int64_t needed;
    if (!df_add_size(h.end, bytes, &needed) || needed > INT64_MAX / 2)
        return df_fail(err, DF_OUT_OF_MEMORY, "loop: no memory for saved rows");
    if (needed <= h.capacity) return DF_OK;
    h.capacity = df_max(needed, 2 * h.capacity);
    df_buffer *buffer = df_buffer_new(h.capacity);
    if (!buffer)
        return df_fail(err, DF_OUT_OF_MEMORY, "loop: no memory for %lld bytes of saved rows",
                       (long long)h.capacity);
    if (rows->buffer) memcpy(buffer->data, rows->data, (size_t)h.end);
    df_buffer_release(rows->buffer);
    rows->buffer = buffer;
    rows->data = buffer->data;
    *head_of(rows) = h;
    return DF_OK;
}

df_status df_row_list_push(df_tensor *rows, const df_tensor *row, bool reverse, df_error *err)
{
    const int64_t data = df_tensor_bytes(row), before = record_bytes(row->ndim);
    df_status status = data > INT64_MAX / 4 ? DF_OUT_OF_MEMORY : DF_OK;
    if (status != DF_OK) return df_fail(err, status, "loop: no memory for a saved row");
    status = reserve(rows, before + aligned(data), err);
    if (status != DF_OK) return status;
    head *h = head_of(rows);
    record *r = record_at(rows, h->end);
    r->bytes = before + aligned(data);
    r->before = h->last ? h->end - h->last : 0;
    r->dtype = row->dtype;
    r->ndim = row->ndim;
    memcpy(r->shape, row->shape, (size_t)row->ndim * sizeof *r->shape);
    if (data) memcpy((char *)r + before, row->data, (size_t)data);
    h->reverse = reverse;
    h->last = h->end;
    h->end += r->bytes;
    h->n++;
    return DF_OK;
}

df_status df_row_list_finish(df_tensor *rows, df_error *err)
{
    df_status status = rows->buffer ? DF_OK : reserve(rows, 0, err);
    return status == DF_OK ? df_tensor_set(rows, DF_U8, 1, &head_of(rows)->end, "loop", err)
                           : status;
}

int64_t df_row_list_length(const df_tensor *rows)
{
    return rows->size < head_bytes() ? 0 : head_of(rows)->n;
}

int64_t df_row_list_first(const df_tensor *rows, bool reverse)
{
    const head *h = head_of(rows);
    return h->reverse == reverse ? head_bytes() : h->last;
}

df_status df_row_list_get(const df_tensor *rows, int64_t at, df_tensor *row, df_error *err)
{
    record *r = record_at(rows, at);
    row->data = (char *)r + record_bytes(r->ndim);
    return df_tensor_set(row, r->dtype, r->ndim, r->shape, "loop", err);
}

int64_t df_row_list_next(const df_tensor *rows, int64_t at, bool reverse)
{
    const record *r = record_at(rows, at);
    return head_of(rows)->reverse == reverse ? at + r->bytes : at - r->before;
}
